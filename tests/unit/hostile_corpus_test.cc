// What the fuzzer starts from and what it ever found: each input goes through the same functions, without sanitizers.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/hostile_input.h"

namespace slurmscope::test {
namespace {

class HostileCorpus : public testing::TestWithParam<HostileTarget> {};

TEST_P(HostileCorpus, IsTakenInBoundedMemory) {
  std::vector<std::filesystem::path> files;
  for (const char *folder : {"corpus", "large"}) {
    std::filesystem::path path = std::filesystem::path(SLURMSCOPE_FUZZ) / folder / GetParam().inputs;
    size_t before = files.size();
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(path, error)) files.push_back(entry.path());
    if (folder == std::string_view("corpus")) { ASSERT_GT(files.size(), before) << path; }
  }
  std::sort(files.begin(), files.end());
  for (const auto &path : files) {
    SCOPED_TRACE(path);
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NO_THROW(GetParam().feed(bytes));
  }
  rusage usage;
  ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  EXPECT_LT(usage.ru_maxrss, 512 * 1024);  // KiB
}

INSTANTIATE_TEST_SUITE_P(Targets, HostileCorpus, testing::ValuesIn(kHostileTargets),
                         [](const auto &target) { return std::string(target.param.name); });

}  // namespace
}  // namespace slurmscope::test
