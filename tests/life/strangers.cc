// Programs with habits that a library in their process must not meet: each prints what it finds, once.
//
// usage: strangers HABIT
//   errno       what errno is in a constructor and in main
//   environ     rebuilds its environment from a copy of the one it got
//   symbols     has functions of its own with the names that tools use inside; prints how often they ran
//   exceptions  throws through functions, threads and a plugin that is loaded late; cancels a thread
// The I/O in between makes sure that the process is recorded.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

extern char **environ;

namespace {

int errno_at_start = -1;
__attribute__((constructor)) void at_start() { errno_at_start = errno; }

int own_calls;

void use_files(int count) {
  char block[64] = {};
  int file = open("/dev/null", O_RDWR);
  for (int i = 0; i < count; i++)
    if (write(file, block, sizeof block) != sizeof block || read(file, block, sizeof block) != 0) _exit(70);
  close(file);
}

void rebuild_environment() {
  std::vector<std::string> copy;
  for (char **entry = environ; *entry != nullptr; entry++) copy.push_back(*entry);
  char **first = environ;
  use_files(200);
  printf("environ %s\n", first == environ ? "stayed" : "moved");
  clearenv();
  for (std::string &entry : copy) putenv(entry.data());
  size_t count = 0;
  for (char **entry = environ; *entry != nullptr; entry++) count++;
  use_files(200);
  printf("%s entries\n", count == copy.size() ? "all" : "other");
}

struct Guard {
  int *count;
  ~Guard() { ++*count; }
};

void *throw_in_thread(void *count) {
  try {
    Guard guard{static_cast<int *>(count)};
    use_files(100);
    throw std::runtime_error("thread");
  } catch (const std::exception &) {
    ++*static_cast<int *>(count);
  }
  return nullptr;
}

void *wait_for_cancellation(void *count) {
  Guard guard{static_cast<int *>(count)};
  for (;;) {
    use_files(1);
    pthread_testcancel();
  }
}

void throw_everywhere() {
  int count = 0;
  for (int i = 0; i < 100; i++) {
    try {
      Guard guard{&count};
      use_files(5);
      throw std::out_of_range("main");
    } catch (const std::logic_error &) {
      count++;
    }
  }
  pthread_t thread;
  pthread_create(&thread, nullptr, throw_in_thread, &count);
  pthread_join(thread, nullptr);
  pthread_create(&thread, nullptr, wait_for_cancellation, &count);
  usleep(20000);
  pthread_cancel(thread);
  pthread_join(thread, nullptr);
  void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
  auto run = reinterpret_cast<int (*)(int)>(plugin == nullptr ? nullptr : dlsym(plugin, "throws_and_catches"));
  printf("%d ends, plugin %d\n", count, run == nullptr ? -1 : run(50));
}

}  // namespace

// Names of libc, zlib, zstd, PAPI, libunwind, and of ours: in a program they are the program's.
#define OWN(name) extern "C" __attribute__((visibility("default"), used)) long name() { return ++own_calls; }
OWN(random) OWN(crc32) OWN(ZSTD_compress) OWN(ZSTD_createCCtx) OWN(PAPI_library_init) OWN(PAPI_start) OWN(unw_backtrace)
OWN(unw_step) OWN(init) OWN(attach) OWN(record) OWN(slurmscope_sampler) OWN(wake) OWN(log_line) OWN(make_process)

int main(int argc, char **argv) {
  int errno_in_main = errno;
  std::string habit = argc > 1 ? argv[1] : "";
  if (habit == "errno") printf("errno %d %d\n", errno_at_start, errno_in_main);
  use_files(200);
  if (habit == "environ") rebuild_environment();
  if (habit == "exceptions") throw_everywhere();
  volatile double sum = 0;
  for (int i = 0; i < 20'000'000; i++) sum = sum + i;  // samples are taken of it
  use_files(200);
  if (habit == "symbols") printf("own functions ran %d times\n", own_calls);
  return 0;
}
