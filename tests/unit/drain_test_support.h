// What a finished trace file says, for tests of the drainer.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "proto/summary.h"
#include "tests/unit/trace_maker.h"

namespace slurmscope::test {

inline std::string file_bytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct DrainedTrace {
  ReadBack back;
  std::vector<v1::CallClass> classes;
  std::vector<std::string> names;

  explicit DrainedTrace(const std::string &path) : back(read_back(file_bytes(path))) {
    for (const v1::Packet &packet : back.packets) {
      if (!packet.has_call_table()) continue;
      classes = classes_of(packet.call_table());
      names.clear();
      for (const v1::Call &call : packet.call_table().calls()) names.push_back(call.name());
    }
  }
  const std::string &name_of(const TraceEvent &row) const { return names.at(row.call); }
  Summary stored_summary(uint32_t process) const {
    Summary summary(&classes);
    for (const v1::Packet &packet : back.packets)
      if (packet.has_summary() && packet.summary().process() == process) summary.merge(packet.summary());
    return summary;
  }
  Summary recomputed_summary(uint32_t process) const {
    Summary summary(&classes);
    for (const auto &[key, rows] : back.rows)
      if (key.first == process)
        for (const TraceEvent &row : rows) summary.add(row);
    return summary;
  }
  v1::Process process(uint32_t id) const {
    v1::Process last;
    for (const v1::Packet &packet : back.packets)
      if (packet.has_process() && packet.process().id() == id) last = packet.process();
    return last;
  }
  uint64_t lost(uint32_t process, const std::string &reason) const {
    uint64_t last = 0;
    for (const v1::Packet &packet : back.packets)
      if (packet.has_loss() && packet.loss().process() == process && packet.loss().reason() == reason) last = packet.loss().count();
    return last;
  }
};

}  // namespace slurmscope::test
