// Unit tests of the drainer's mount table (profiler/drain/mounts.h).
#include <gtest/gtest.h>

#include "profiler/drain/mounts.h"

namespace slurmscope {
namespace {

constexpr const char kText[] =
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "23 22 0:21 / /proc rw - proc proc rw\n"
    "not a mount\n"
    "40 22 0:50 / /scratch rw shared:5 master:2 - lustre a@tcp:/fs rw\n"
    "41 22 0:51 / /with\\040blank rw - nfs4 server:/x rw\n"
    "42 40 0:52 / /scratch/local rw - xfs /dev/vdb rw\n"
    "43 22 0:53 / /scratch/local rw - tmpfs tmpfs rw\n"
    "44 22 0:54 / /no-type rw";

std::string type_of(const Mount *mount) { return mount != nullptr ? mount->type : "(none)"; }

TEST(MountTable, FindsById) {
  MountTable table;
  EXPECT_TRUE(table.empty());
  table.parse(kText);
  EXPECT_EQ(type_of(table.find(40)), "lustre");
  EXPECT_EQ(table.find(41)->point, "/with blank");
  EXPECT_EQ(type_of(table.find(44)), "(none)");
  EXPECT_EQ(type_of(table.find(0)), "(none)");
}

TEST(MountTable, TheLongestWholeNameCountsAndTheLatestMount) {
  MountTable table;
  table.parse(kText);
  EXPECT_EQ(type_of(table.find_path("/scratch/data")), "lustre");
  EXPECT_EQ(type_of(table.find_path("/scratch")), "lustre");
  EXPECT_EQ(type_of(table.find_path("/scratches")), "ext4");
  EXPECT_EQ(type_of(table.find_path("/scratch/local/x")), "tmpfs");
  EXPECT_EQ(type_of(table.find_path("/with blank/x")), "nfs4");
  EXPECT_EQ(type_of(table.find_path("tcp:10.0.0.1:80")), "(none)");
}

TEST(MountTable, ReadsItsOwnProcess) {
  MountTable table;
  table.read("self");
  EXPECT_EQ(type_of(table.find_path("/proc/self/status")), "proc");
  table.read("no such process");
  EXPECT_TRUE(table.empty());
}

}  // namespace
}  // namespace slurmscope
