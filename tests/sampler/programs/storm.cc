// What a sampler's unwinder may deadlock with: threads that load and unload objects, throw, and use the
// allocator, as fast as they can for argv[1] seconds; argv[2] and argv[3] are the objects, which have a
// function work(). Prints how often each went round.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<bool> stop;
static std::atomic<long> loads, throws, allocations;

static void load(const char *path) {
  while (!stop) {
    void *object = dlopen(path, RTLD_NOW);
    if (object == nullptr) std::abort();
    reinterpret_cast<int (*)(int)>(dlsym(object, "work"))(20000);
    dlclose(object);
    if (dlopen(path, RTLD_NOW | RTLD_NOLOAD) != nullptr) std::abort();  // it is really unmapped each time
    loads++;
  }
}

__attribute__((noinline)) static void thrower(int depth) {
  std::string local(64, 'x');
  if (depth == 0) throw std::runtime_error(local);
  thrower(depth - 1);
  asm volatile("" : : "r"(local.data()) : "memory");
}

static void throw_loop() {
  while (!stop) {
    try {
      thrower(10);
    } catch (const std::exception &) {
      throws++;
    }
  }
}

static void allocate() {
  std::vector<void *> kept(64);
  unsigned seed = 1;
  while (!stop) {
    seed = seed * 1103515245u + 12345u;
    void *&place = kept[seed >> 26];
    std::free(place);
    place = std::malloc((seed >> 8) & 0xffff);
    allocations++;
  }
  for (void *place : kept) std::free(place);
}

int main(int count, char **arguments) {
  if (count != 4) return 2;
  std::thread threads[] = {std::thread(load, arguments[2]), std::thread(throw_loop), std::thread(allocate),
                           std::thread(load, arguments[3])};
  std::this_thread::sleep_for(std::chrono::seconds(std::atoi(arguments[1])));
  stop = true;
  for (auto &thread : threads) thread.join();
  std::printf("done %ld %ld %ld\n", loads.load(), throws.load(), allocations.load());
  return loads > 10 && throws > 10 && allocations > 10 ? 0 : 1;
}
