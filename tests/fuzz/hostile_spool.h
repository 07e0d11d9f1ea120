// The steps of an input of the target `spool`, for feed_spool and for the maker of the corpus.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace slurmscope::test {

/// What a step does; its content is what the name says. Each step is kind, index, size (16 bits), content.
enum class SpoolStep : uint8_t {
  kProcessPatch,       // offset (16 bits), bytes: over process file `index`, which is made if there is none
  kRingPatch,          // offset (16 bits), bytes: over ring file `index`, made if there is none
  kEvent,              // published in ring `index`
  kDefinition,         // published, its size as a multiple of 8
  kSample,
  kRawDefinition,      // published as it is
  kFileSize,           // 64 bits, at most 2^42: of ring `index`, or of the journal
  kJournalRecord,      // of kind `index`
  kJournalBytes,       // appended as they are
  kCheckpointPackets,  // the packets of checkpoint `index`
  kCheckpointBytes,    // checkpoint `index` as it is
  kCommit,             // the text
  kTasks,
  kStepInfo,
  kRound,              // the drainer takes what is there
  kRestart,            // a successor of the drainer
  kCount,
};
constexpr uint8_t kSpoolProcesses = 2, kSpoolRings = 4;  // ring i belongs to process i % kSpoolProcesses

inline std::string spool_step(SpoolStep step, uint8_t index, std::string_view content) {
  std::string bytes{static_cast<char>(step), static_cast<char>(index), static_cast<char>(content.size() & 0xff),
                    static_cast<char>(content.size() >> 8)};
  return bytes.append(content);
}

}  // namespace slurmscope::test
