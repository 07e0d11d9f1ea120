// Unit tests of the I/O file table and its path functions (profiler/io), with a recorder that keeps the
// definitions in memory.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <string>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "profiler/io/file_table.h"
#include "profiler/io/path_rules.h"
#include "profiler/io/path_text.h"
#include "profiler/io/socket_text.h"
#include "profiler/preload/recorder.h"

namespace slurmscope {
namespace {

__thread ThreadLocal thread_local_storage __attribute__((tls_model("initial-exec")));
std::map<uint32_t, std::string> defined;
std::vector<std::string> notes;
bool is_full;

bool define_in_memory(const DefinitionHeader *header) {
  if (is_full) return false;
  EXPECT_EQ(header->size % 8, 0u);
  EXPECT_EQ(header->kind, DefinitionKind::kFile);
  auto *file = reinterpret_cast<const FileDefinition *>(header);
  defined[file->id] = std::string(reinterpret_cast<const char *>(file + 1), file->path_size);
  return true;
}

ProcessRecorder process_recorder;
RecorderLink memory_link;

}  // namespace

const RecorderLink *recorder_link = &memory_link;

namespace {

class FileTable : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    memory_link.process = &process_recorder;
    memory_link.thread_local_offset =
        reinterpret_cast<char *>(&thread_local_storage) - static_cast<char *>(__builtin_thread_pointer());
    memory_link.define = define_in_memory;
    memory_link.count_loss = [](LossReason) {};
    memory_link.note = [](const char *text) { notes.emplace_back(text); };
    char name[] = "/tmp/file_table_test.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory = name;
    set_path_rules("/data/out", "/data/out/kept", (directory + "/spool/").c_str());
  }
  static void TearDownTestSuite() {
    ASSERT_EQ(chdir("/"), 0);
    EXPECT_EQ(rmdir(directory.c_str()), 0);
  }
  static std::string path_of(uint32_t file) { return defined.count(file) ? defined[file] : "(undefined)"; }
  static std::string directory;
};
std::string FileTable::directory;

std::string tidied(std::string path) {
  tidy_path(path.data());
  return path.c_str();
}

TEST(PathText, TidiesWithoutTouchingDotDot) {
  EXPECT_EQ(tidied("/"), "/");
  EXPECT_EQ(tidied("//"), "/");
  EXPECT_EQ(tidied("/a//b/./c/"), "/a/b/c");
  EXPECT_EQ(tidied("/./."), "/");
  EXPECT_EQ(tidied("/a/../b"), "/a/../b");
  EXPECT_EQ(tidied("/.a/..b/c."), "/.a/..b/c.");
  EXPECT_EQ(tidied(""), "");
}

TEST(PathText, PrefixesAreWholeNames) {
  EXPECT_TRUE(path_is_under("/proc", "/proc"));
  EXPECT_TRUE(path_is_under("/proc/self/fd", "/proc"));
  EXPECT_FALSE(path_is_under("/process", "/proc"));
  EXPECT_FALSE(path_is_under("/a/proc", "/proc"));
}

std::string kind_of(std::string target) {
  reduce_to_kind(target.data());
  return target.c_str();
}

TEST(PathText, ReducesToKinds) {
  EXPECT_EQ(kind_of("socket:[123]"), "socket:");
  EXPECT_EQ(kind_of("pipe:[9]"), "pipe:");
  EXPECT_EQ(kind_of("anon_inode:[eventfd]"), "anon_inode:[eventfd]");
  EXPECT_EQ(kind_of("/dev/pts/3"), "tty:");
  EXPECT_EQ(kind_of("/dev/null"), "/dev/null");
  EXPECT_EQ(kind_of("/data/x (deleted)"), "/data/x");
}

TEST(PathText, NamesTheLink) {
  char text[32];
  descriptor_link(0, text);
  EXPECT_STREQ(text, "/proc/self/fd/0");
  descriptor_link(1048575, text);
  EXPECT_STREQ(text, "/proc/self/fd/1048575");
  descriptor_link(INT32_MAX, text);
  EXPECT_STREQ(text, "/proc/self/fd/2147483647");
}

TEST_F(FileTable, SamePathSameId) {
  errno = 77;
  uint32_t file = file_of_path(AT_FDCWD, "/data/a", true);
  EXPECT_EQ(path_of(file), "/data/a");
  EXPECT_EQ(file_of_path(AT_FDCWD, "//data/./a", true), file);
  EXPECT_NE(file_of_path(AT_FDCWD, "/data/b", true), file);
  EXPECT_EQ(file_of_path(AT_FDCWD, "/data/c", false), kNoFile);
  EXPECT_EQ(errno, 77);
}

TEST_F(FileTable, RelativePathsAndDirectories) {
  ASSERT_EQ(chdir(directory.c_str()), 0);
  EXPECT_EQ(path_of(file_of_path(AT_FDCWD, "x", true)), directory + "/x");
  int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(chdir("/"), 0);
  EXPECT_EQ(path_of(file_of_path(fd, "./y", true)), directory + "/y");
  EXPECT_EQ(path_of(file_of_path(fd, "", true)), directory);
  EXPECT_EQ(path_of(file_of_path(fd, nullptr, true)), directory);
  EXPECT_EQ(path_of(file_of_path(AT_FDCWD, "z", true)), "/z");
  EXPECT_EQ(path_of(file_of_unnamed(fd, ".")), directory + "/(unnamed)");
  close(fd);
  EXPECT_EQ(file_of_path(fd, "y", true), kNoFile);
  EXPECT_EQ(file_of_path(AT_FDCWD, std::string(5000, 'x').c_str(), true), kNoFile);
}

TEST_F(FileTable, Exclusions) {
  EXPECT_EQ(file_of_path(AT_FDCWD, "/proc/self/maps", true), kExcludedFile);
  EXPECT_EQ(file_of_path(AT_FDCWD, "/sys", true), kExcludedFile);
  EXPECT_EQ(file_of_path(AT_FDCWD, (directory + "/spool/ring-1-1-1").c_str(), true), kExcludedFile);
  EXPECT_NE(file_of_path(AT_FDCWD, (directory + "/spooled").c_str(), true), kExcludedFile);
  EXPECT_NE(file_of_path(AT_FDCWD, "/dev/shm/mine", true), kExcludedFile);
  EXPECT_EQ(file_of_path(AT_FDCWD, "/data/out/x", true), kExcludedFile);
  EXPECT_NE(file_of_path(AT_FDCWD, "/data/out/kept/x", true), kExcludedFile);
  EXPECT_NE(file_of_path(AT_FDCWD, "/data/output", true), kExcludedFile);
}

TEST_F(FileTable, UnknownDescriptorsAreAskedForOnce) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  int event = eventfd(0, 0);
  ASSERT_GE(event, 0);
  EXPECT_EQ(file_of_descriptor(event), kExcludedFile);
  close(event);
  EXPECT_EQ(known_file_of_descriptor(pair[0]), kNoFile);
  uint32_t file = file_of_descriptor(pair[0]);
  EXPECT_TRUE(is_socket(file));
  EXPECT_FALSE(has_peer(file));
  EXPECT_EQ(path_of(file_id(file)), "unix:");
  EXPECT_EQ(known_file_of_descriptor(pair[0]), file);
  EXPECT_EQ(file_of_descriptor(pair[1]), file);
  close(pair[0]), close(pair[1]);
  set_descriptor(pair[0], kNoFile);
  EXPECT_EQ(file_of_descriptor(pair[0]), kNoFile);
  EXPECT_EQ(file_of_descriptor(-1), kNoFile);
  EXPECT_EQ(file_of_descriptor(INT32_MAX), kNoFile);
}

TEST_F(FileTable, SocketsByPeer) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(4711);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  ASSERT_GE(fd, 0);
  uint32_t file = file_of_descriptor(fd);
  EXPECT_EQ(path_of(file_id(file)), "udp:");
  uint32_t peer = file_of_peer(fd, file, &address, sizeof address);
  EXPECT_EQ(path_of(file_id(peer)), "udp:127.0.0.1:4711");
  EXPECT_TRUE(has_peer(peer));
  EXPECT_EQ(file_of_peer(fd, kNoFile, &address, sizeof address), peer);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
  set_descriptor(fd, kNoFile);
  EXPECT_EQ(file_of_descriptor(fd), peer);
  close(fd);
  set_descriptor(fd, kNoFile);
  EXPECT_FALSE(is_socket(kExcludedFile));
  EXPECT_FALSE(is_socket(kUnknowableFile));
  EXPECT_FALSE(is_socket(kMaxFiles));
}

TEST_F(FileTable, CopiesAndRanges) {
  uint32_t file = file_of_path(AT_FDCWD, "/copied", true);
  set_descriptor(200, file);
  copy_descriptor(200, 300);
  copy_descriptor(200, 400);
  forget_descriptors(200, 300);
  EXPECT_EQ(known_file_of_descriptor(200), kNoFile);
  EXPECT_EQ(known_file_of_descriptor(300), kNoFile);
  EXPECT_EQ(known_file_of_descriptor(400), file);
  forget_descriptors(0, ~0u);
  EXPECT_EQ(known_file_of_descriptor(400), kNoFile);
}

TEST_F(FileTable, LostDefinitionIsMadeUpFor) {
  is_full = true;
  uint32_t file = file_of_path(AT_FDCWD, "/lost", true);
  is_full = false;
  EXPECT_EQ(path_of(file), "(undefined)");
  EXPECT_EQ(file_of_path(AT_FDCWD, "/lost", true), file);
  EXPECT_EQ(path_of(file), "/lost");
}

TEST_F(FileTable, ForkStartsAfresh) {
  uint32_t file = file_of_path(AT_FDCWD, "/mine", true);
  set_descriptor(500, file);
  pid_t pid = fork();
  if (pid == 0) {
    bool is_right = known_file_of_descriptor(500) == kNoFile && file_of_path(AT_FDCWD, "/child", true) == 1;
    _exit(is_right ? 0 : 1);
  }
  int status;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(known_file_of_descriptor(500), file);
}

TEST_F(FileTable, TooManyFilesAreCountedTogether) {
  uint32_t last = 0;
  for (int i = 0; i < 70000; i++) {
    std::string path = "/many/" + std::to_string(i);
    last = file_of_path(AT_FDCWD, path.c_str(), true);
    ASSERT_NE(last, kNoFile);
    ASSERT_LE(last, kMaxFiles);
  }
  EXPECT_EQ(last, kMaxFiles);
  EXPECT_EQ(path_of(kMaxFiles), "(other files)");
  EXPECT_EQ(notes.size(), 1u);
  uint32_t first = file_of_path(AT_FDCWD, "/many/0", true);
  EXPECT_EQ(path_of(first), "/many/0");
}

}  // namespace
}  // namespace slurmscope
