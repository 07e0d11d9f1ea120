// Switches the recording of I/O on. Called by the preload's life cycle (profiler/preload).
//
// Until io_recording_enable() every wrapper is a pass-through of about a nanosecond.
#pragma once

#include "proto/settings.h"

namespace slurmscope {

/// From the preload's constructor, in a process that may be recorded (a spool directory, mode not off,
/// executable not skipped); recorder_link must be usable. The process is attached by itself once it has
/// made more than `io_calls` I/O calls or moved more than `io_bytes`; the files below `spool` are
/// never recorded.
void io_recording_enable(const Settings &settings, const char *spool);

/// From the preload's constructor, in every process: mmap, which allocators call at any moment, then goes on to libc's
/// (not straight to the kernel: communication libraries patch that function to see what is mapped).
void find_mapping_functions();

}  // namespace slurmscope
