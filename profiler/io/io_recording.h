// Switches the recording of I/O on. Called by the preload's life cycle (profiler/preload).
//
// Until io_recording_enable() every wrapper is a pass-through of about a nanosecond.
#pragma once

#include "proto/settings.h"

namespace slurmscope {

/// In a process that may be one to record; recorder_link must be usable. The process is attached by itself once it has
/// made more I/O calls or moved more bytes than the thresholds say.
void io_recording_enable();

/// When the settings are known, before the process is recorded: sets the thresholds (`io_calls`, `io_bytes`) and what is
/// recorded; the files below `spool` never are. Once.
void io_recording_prepare(const Settings &settings, const char *spool);

/// In a process whose I/O is not to be recorded after all.
void io_recording_disable();

/// From the preload's constructor, in every process: mmap, which allocators call at any moment, then goes on to libc's
/// (not straight to the kernel: communication libraries patch that function to see what is mapped).
void find_mapping_functions();

}  // namespace slurmscope
