// Rows of a trace as lines of text or CSV, for `slurmscope dump`. Pure.
#pragma once

#include <string>
#include <vector>

#include "tools/model/stream.h"

namespace slurmscope {

inline constexpr const char *kEventsCsvHead =
    "host,rank,process,thread,start_realtime_ns,duration_us,call,kind,flags,bytes,peer,tag,object,site,request,offset\n";

/// A line per row. Without clock anchors times are ticks.
std::string events_text(const Stream &stream, uint32_t process, uint32_t thread, const std::vector<TraceEvent> &rows, bool csv);

}  // namespace slurmscope
