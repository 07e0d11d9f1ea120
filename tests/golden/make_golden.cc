// Writes the golden traces: `make_golden DIRECTORY`. Run once per format version; what is committed in
// tests/golden/v1 is never regenerated. Every number in them is in the expectations next to them.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/run_maker.h"

using namespace slurmscope::test;

namespace {

void save(const std::filesystem::path &path, const std::string &bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A file name that would steer a terminal, and a summary that does not fit the events.
void save_strange(const std::filesystem::path &root) {
  RunMaker maker({});
  uint32_t id = maker.add_rank(0, 1);
  maker.file(id, 1, "/tmp/\x1b[31mred\n\"quoted\" \xc3\xbc");
  maker.life(id, 1000000, 11000000, 1000);
  maker.call(id, kOpen, 2000000, 2001000).object = 1;
  save(root / "v1/strange/step0.n1.sst", maker.bytes());

  RunMaker wrong = make_exchange({}, false);
  slurmscope::v1::Summary summary;
  summary.set_process(1);
  slurmscope::v1::CallStats *call = summary.add_calls();
  call->set_call(kSend);
  call->set_count(11);
  wrong.summary_override[1] = summary;
  save(root / "broken/wrong_summary.sst", wrong.bytes());
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden DIRECTORY\n");
    return 2;
  }
  std::filesystem::path root = argv[1];
  save(root / "v1/imbalance/step0.n1.sst", make_imbalance({}).bytes());
  RunMaker::Options summary;
  summary.trace = false;
  summary.settings = "summary";
  save(root / "v1/summary/step0.n1.sst", make_imbalance(summary).bytes());
  save(root / "v1/exchange/step0.n1.sst", make_exchange({}, false).bytes());
  save(root / "v1/killed/step0.n1.sst", make_exchange({}, true).bytes());
  save_strange(root);

  std::string whole = make_exchange({}, false).bytes();
  save(root / "broken/cut.sst", whole.substr(0, whole.size() * 3 / 4));
  std::string flipped = whole;
  size_t at = flipped.size() * 3 / 4;
  flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
  save(root / "broken/flipped.sst", flipped);
  save(root / "broken/empty.sst", "");
  save(root / "broken/text.sst", "this is no trace\n");
  save(root / "broken/no_end.sst", make_exchange({}, false).bytes(false));

  // Six runs for compare: three of each partition, interleaved, the virtual ones 10 % slower.
  for (int i = 0; i < 3; ++i)
    for (bool is_virtual : {false, true}) {
      RunMaker::Options options;
      options.partition = is_virtual ? "virtual" : "baremetal";
      options.vm = is_virtual ? "kvm" : "none";
      options.job = std::to_string(100 + 2 * i + (is_virtual ? 1 : 0));
      options.host = is_virtual ? "vm1" : "bm1";
      options.stream_id = static_cast<uint64_t>(10 + 2 * i + (is_virtual ? 1 : 0));
      options.start_shift_ns = (2 * i + (is_virtual ? 1 : 0)) * 60000000000LL;
      RunMaker maker(options);
      uint64_t wall = (is_virtual ? 1100000000ULL : 1000000000ULL) + static_cast<uint64_t>(i) * 10000000ULL;
      for (int rank = 0; rank < 2; ++rank) {
        uint32_t id = maker.add_rank(rank, 2);
        maker.life(id, 1000000, 1000000 + wall, 1000000);
        maker.call(id, kAllreduce, 500000000, 500000000 + wall / 5, 8);
        maker.process(id).set_wait_status(0);
      }
      save(root / "v1/six" / ("slurmscope-" + options.job) / ("step0." + options.host + ".sst"), maker.bytes());
    }
  return 0;
}
