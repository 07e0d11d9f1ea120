// Traces for tests: random but reproducible rows, small whole files, and the read-back of a file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/slurmscope.pb.h"
#include "proto/trace_event.h"
#include "proto/trace_reader.h"

namespace slurmscope::test {

/// Same numbers on every machine, unlike the distributions of <random>.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  uint64_t below(uint64_t limit) { return next() % limit; }

 private:
  uint64_t state_;
};

/// Call indices of sample_call_table(): one call of each class that is folded in a way of its own.
enum SampleCall : uint32_t {
  kSend = 1, kRecv, kSendrecv, kIsend, kIrecv, kWait, kAllreduce, kOpen, kClose, kRead, kWrite, kSeek, kStat
};
v1::CallTable sample_call_table();
std::vector<v1::CallClass> classes_of(const v1::CallTable &table);

/// What a program could have done: messages, requests, collectives and file accesses in time order.
std::vector<TraceEvent> sample_rows(uint64_t seed, size_t count);
/// Every field takes any value of its type.
std::vector<TraceEvent> wild_rows(uint64_t seed, size_t count);

v1::Packet header_packet();
/// A whole small file: header, call table, one process, two threads of rows, summary, end, index.
/// `frames` is how often it is flushed on the way.
std::string sample_trace(uint64_t seed, size_t rows_per_thread, size_t frames);

struct ReadBack {
  std::vector<v1::Packet> packets;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<TraceEvent>> rows;  // by process and thread
  TraceDamage damage;
};
ReadBack read_back(std::string_view bytes);

}  // namespace slurmscope::test
