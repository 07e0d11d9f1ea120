// Call paths: what is followed, when it is the same path again, and what must never be read.
//
// The functions below stand for a program; call_here() for a wrapper.
#include "tests/unit/recorder_test_support.h"

#include <dlfcn.h>
#include <ucontext.h>

#include "profiler/preload/call_paths.h"

namespace slurmscope {
namespace {

#define NOINLINE __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

struct Defined {
  std::vector<uint64_t> addresses;
  bool is_truncated;
};

// The paths in the calling thread's definition ring.
std::map<uint32_t, Defined> paths() {
  std::map<uint32_t, Defined> found;
  RingFile *file = thread_local_state()->recorder->file;
  auto *bytes = reinterpret_cast<uint8_t *>(file) + file->definition_offset;
  for (uint64_t at = 0; at < file->definitions.head;) {
    auto *site = reinterpret_cast<SiteDefinition *>(bytes + at);
    if (site->header.kind == DefinitionKind::kSite) {
      auto *first = reinterpret_cast<uint64_t *>(site + 1);
      REQUIRE(found.emplace(site->id, Defined{{first, first + site->depth}, site->truncated != 0}).second);
    }
    at += site->header.size;
  }
  return found;
}

NOINLINE uint32_t call_here() {
  uint32_t id = recorder_link->site_id({__builtin_return_address(0), __builtin_dwarf_cfa()});
  __asm__ volatile("" ::: "memory");
  return id;
}
NOINLINE uint32_t inner(int padding) {
  // Moves the stack pointer, not the path.
  volatile char *room = static_cast<char *>(__builtin_alloca(static_cast<size_t>(padding)));
  room[0] = 1;
  return call_here() + 0u * static_cast<uint32_t>(room[0]);
}
NOINLINE uint32_t left(int padding) {
  uint32_t id = inner(padding);
  __asm__ volatile("" ::: "memory");
  return id;
}
NOINLINE uint32_t right(int padding) {
  uint32_t id = inner(padding);
  __asm__ volatile("" ::: "memory");
  return id;
}
NOINLINE uint32_t down(int frames) {
  uint32_t id = frames > 0 ? down(frames - 1) : call_here();
  __asm__ volatile("" ::: "memory");
  return id;
}

bool lies_in(uint64_t address, const void *function) {
  uint64_t start = reinterpret_cast<uint64_t>(function);
  return address > start && address < start + 200;
}

TEST_F(RecorderTest, APathNamesItsCallers) {
  EXPECT_EQ(in_child([] {
              REQUIRE(record());
              uint32_t by_left = 0, by_right = 0;
              for (int i = 0; i < 3; i++) {  // one place each: a loop
                by_left = left(16);
                by_right = right(16);
              }
              REQUIRE(by_left != 0 && by_right != 0 && by_left != by_right);
              auto found = paths();
              REQUIRE(found.size() == 2);
              for (auto [id, caller] : {std::pair(by_left, &left), std::pair(by_right, &right)}) {
                const Defined &path = found[id];
                REQUIRE(path.addresses.size() > 3 && !path.is_truncated);
                REQUIRE(lies_in(path.addresses[0], reinterpret_cast<void *>(&inner)));
                REQUIRE(lies_in(path.addresses[1], reinterpret_cast<void *>(caller)));
                // Ends in main(): not in what called it.
                Dl_info info;
                REQUIRE(dladdr(reinterpret_cast<void *>(path.addresses.back() - 1), &info) != 0);
                REQUIRE(strstr(info.dli_fname, "libc.so") == nullptr);
              }
              // The paths differ in one address only: where left() and right() were called lies on one line.
              REQUIRE(found[by_left].addresses.size() == found[by_right].addresses.size());
            }),
            0);
}

TEST_F(RecorderTest, APathIsDefinedOnceAtAnyHeightOfTheStack) {
  EXPECT_EQ(in_child([] {
              REQUIRE(record());
              uint32_t id = 0;
              for (int round = 0; round < 200; round++) {  // more than the thread remembers
                for (int padding = 16; padding < 4096; padding += 16) {
                  uint32_t now = left(padding);
                  REQUIRE(id == 0 || now == id);
                  id = now;
                }
              }
              REQUIRE(paths().size() == 1);
              REQUIRE(lost(ring(), LossReason::kDefinition) == 0);
            }),
            0);
}

NOINLINE void from_ten_places() {
  for (int round = 0; round < 10; round++) {
    left(16), left(16), left(16), left(16), left(16), left(16), left(16), left(16), left(16), left(16);
    __asm__ volatile("" ::: "memory");
  }
}

// A solver's loop calls MPI from many places at one height of the stack. A walk takes microseconds.
TEST_F(RecorderTest, PathsOfOneLayoutAreWalkedOnceEach) {
  EXPECT_EQ(in_child([] {
              REQUIRE(record());
              from_ten_places();
              REQUIRE(paths().size() == 10);
              int walks = 0;
              for (uint8_t count : thread_local_state()->recorder->paths->oldest) walks += count;
              REQUIRE(walks == 10);
            }),
            0);
}

TEST_F(RecorderTest, ADeepPathIsCutAndMarked) {
  EXPECT_EQ(in_child([] {
              REQUIRE(record());
              uint32_t id = down(100), same = down(101);
              auto found = paths();
              REQUIRE(found[id].addresses.size() == kMaxPathDepth && found[id].is_truncated);
              REQUIRE(id == same && found.size() == 1);
              REQUIRE(down(3) != id);
            }),
            0);
}

TEST_F(RecorderTest, ThreadsShareTheNumbers) {
  EXPECT_EQ(in_child([] {
              REQUIRE(record());
              std::vector<uint32_t> ids(4);
              for (uint32_t &id : ids)
                std::thread([&id] {
                  REQUIRE(record());
                  for (int i = 1; i < 100; i++) {
                    uint32_t now = left(16 * i);
                    REQUIRE(id == 0 || now == id);
                    id = now;
                  }
                  auto found = paths();
                  if (!found.empty()) {
                    REQUIRE(found.size() == 1 && !found[id].is_truncated && found[id].addresses.size() >= 3);
                    REQUIRE(lies_in(found[id].addresses[1], reinterpret_cast<void *>(&left)));
                  }
                }).join();
              for (uint32_t id : ids) REQUIRE(id != 0 && id == ids[0]);
              REQUIRE(left(16) != ids[0]);  // called from main, not from the thread's function
            }),
            0);
}

ucontext_t outside, coroutine;
uint32_t coroutine_ids[3];
void run_coroutine() {
  for (uint32_t &id : coroutine_ids) {
    id = left(16);
    swapcontext(&coroutine, &outside);
  }
}

// On a stack that is not the thread's own nothing is read; and what was remembered of the thread's own does not
// lead anywhere when the memory around a coroutine's stack is gone.
TEST_F(RecorderTest, AnotherStackIsNotFollowed) {
  for (bool in_thread : {false, true}) {
    EXPECT_EQ(in_child([in_thread] {
                auto body = [] {
                  REQUIRE(record());
                  uint32_t before = left(16);
                  size_t size = 64 * 1024;
                  void *stack = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                  getcontext(&coroutine);
                  coroutine.uc_stack.ss_sp = stack;
                  coroutine.uc_stack.ss_size = size;
                  coroutine.uc_link = &outside;
                  makecontext(&coroutine, run_coroutine, 0);
                  for (int i = 0; i < 2; i++) {
                    swapcontext(&outside, &coroutine);
                    REQUIRE(left(16) != coroutine_ids[i]);
                  }
                  REQUIRE(coroutine_ids[0] == coroutine_ids[1] && coroutine_ids[0] != before);
                  auto found = paths();
                  REQUIRE(found[coroutine_ids[0]].addresses.size() == 1 && found[coroutine_ids[0]].is_truncated);
                  // The upper part of its stack goes away, at the same heights a smaller one goes on.
                  munmap(static_cast<char *>(stack) + size / 2, size / 2);
                  coroutine.uc_stack.ss_size = size / 2;
                  makecontext(&coroutine, run_coroutine, 0);
                  for (int i = 0; i < 2; i++) swapcontext(&outside, &coroutine);
                  REQUIRE(coroutine_ids[0] == coroutine_ids[1]);
                };
                if (in_thread) std::thread(body).join();
                else body();
              }),
              0);
  }
}

TEST_F(RecorderTest, AForksChildDefinesItsPathsAnew) {
  EXPECT_EQ(in_child([] {
              REQUIRE(record());
              REQUIRE(left(16) != 0);
              pid_t child = fork();
              if (child == 0) {
                REQUIRE(record());
                uint32_t id = left(16);
                auto found = paths();
                REQUIRE(found.size() == 1 && found.begin()->first == id && !found[id].is_truncated);
                _exit(0);
              }
              int status;
              waitpid(child, &status, 0);
              REQUIRE(status == 0);
            }),
            0);
}

TEST_F(RecorderTest, PathsLeaveErrnoAlone) {
  EXPECT_EQ(in_child([] {
              REQUIRE(record());
              errno = 77;
              REQUIRE(left(16) != 0 && errno == 77);
            }),
            0);
}

}  // namespace
}  // namespace slurmscope
