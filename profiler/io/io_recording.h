// Switches the recording of I/O on and off. Called by the preload's life cycle (profiler/preload).
//
// Until io_recording_enable() every wrapper is a pass-through of about a nanosecond.
#pragma once

namespace slurmscope {

/// From the preload's constructor, in a process that may be recorded (a spool directory, mode not off,
/// executable not skipped); recorder_link must be usable. From then on each I/O call of a thread without
/// a ring asks RecorderLink::attach_thread(), which counts it towards the threshold. Files below `spool`
/// are never recorded. False: no memory, I/O stays unrecorded.
bool io_recording_enable(const char *spool);

/// From the exit handler: everything passes through from now on.
void io_recording_disable();

}  // namespace slurmscope
