// Everything of Slurmscope that reads bytes which somebody else may have made, one function for each.
//
// Called by the fuzzer (fuzz_main.cc) with inputs it invents and by tests/unit/hostile_corpus_test.cc with
// those in tests/fuzz/corpus. A function returns whatever the bytes are; an exception other than the
// Error it expects, a crash or a time without end is a defect. Single-threaded.
#pragma once

#include <string>
#include <string_view>

namespace slurmscope::test {

/// Frames, packets and event columns.
void feed_frames(std::string_view input);
/// `slurmscope verify`: definitions, index, summaries against events.
void feed_verify(std::string_view input);
/// `slurmscope report` in all its forms, and the events as text.
void feed_report(std::string_view input);
/// The drainer's side of a spool. The input is a list of steps, see hostile_spool.cc.
void feed_spool(std::string_view input);

struct HostileTarget {
  const char *name;
  void (*feed)(std::string_view);
  const char *inputs;  // folder below corpus/ and large/; trace: files, or what is in their frames
  bool is_trace() const { return std::string_view(inputs) == "trace"; }
};
constexpr HostileTarget kHostileTargets[] = {
    {"frames", feed_frames, "trace"},
    {"verify", feed_verify, "trace"},
    {"report", feed_report, "trace"},
    {"spool", feed_spool, "spool"},
};

/// The file that an input of a trace target stands for: a file as it is, or (if it does not start as one) the
/// uncompressed packets of one. Nobody who changes a compressed frame at random gets past its checksum.
std::string trace_file(std::string_view input);
/// The opposite: the packets of all frames that can be read.
std::string trace_packets(std::string_view file);
bool is_trace_file(std::string_view input);

}  // namespace slurmscope::test
