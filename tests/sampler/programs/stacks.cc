// Known call stacks, by the first argument. Each burns a known amount of CPU time in a known function.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <climits>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define KEEP extern "C" __attribute__((noinline, visibility("default")))

static volatile long sink;

static double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

KEEP void burn_innermost(double seconds) {
  double end = cpu_seconds() + seconds;
  while (cpu_seconds() < end)
    for (int i = 0; i < 10000; i++) sink = sink + 1;
}
KEEP void chain_three(double seconds) { burn_innermost(seconds); sink = sink + 3; }
KEEP void chain_two(double seconds) { chain_three(seconds); sink = sink + 2; }
KEEP void chain_one(double seconds) { chain_two(seconds); sink = sink + 1; }

KEEP int recursion(int depth) {
  volatile char room[64];
  room[depth % 64] = static_cast<char>(depth);
  if (depth == 0) burn_innermost(0.5);
  return depth == 0 ? room[0] : recursion(depth - 1) + room[depth % 64];
}

// A callback from inside libc: its frames have no frame pointer.
static int compare(const void *left, const void *right) {
  static int calls;
  if (calls++ == 0) burn_innermost(0.5);
  return *static_cast<const int *>(left) - *static_cast<const int *>(right);
}
KEEP void sort_something() {
  int values[] = {3, 1, 2, 5, 4};
  qsort(values, 5, sizeof values[0], compare);
  sink = sink + values[0];
}

// On top of a signal handler.
KEEP void on_usr1(int) { burn_innermost(0.5); sink = sink + 1; }
KEEP void raise_it() { raise(SIGUSR1); sink = sink + 1; }

static void *in_thread(void *) { chain_one(0.4); return nullptr; }
static void *with_signals_blocked(void *) {
  chain_one(1);
  return nullptr;
}

static ucontext_t main_context, coroutine;
KEEP void coroutine_body() {
  chain_one(0.5);
  swapcontext(&coroutine, &main_context);
}

// push rbp; mov rcx,rdi; mov rbp,0xbadbeef; L: dec rcx; jnz L; pop rbp; ret: no unwind information and
// a frame pointer that is none.
KEEP void run_bare_code() {
  static const unsigned char code[] = {0x55, 0x48, 0x89, 0xf9, 0x48, 0xc7, 0xc5, 0xef, 0xbe,
                                       0xad, 0x0b, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3};
  void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, code, sizeof code);
  mprotect(page, 4096, PROT_READ | PROT_EXEC);
  double end = cpu_seconds() + 0.5;
  while (cpu_seconds() < end) reinterpret_cast<void (*)(long)>(page)(20000000);
  munmap(page, 4096);
}

KEEP void jump_storm() {
  jmp_buf place;
  double end = cpu_seconds() + 0.5;
  volatile long jumps = 0;
  if (setjmp(place) >= 0 && cpu_seconds() < end) {
    jumps = jumps + 1;
    longjmp(place, 1);
  }
}

static int run_threads(size_t stack_size, void *(*body)(void *), int count) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack_size != 0 && pthread_attr_setstacksize(&attributes, stack_size) != 0) return 1;
  pthread_t threads[8];
  for (int i = 0; i < count; i++)
    if (pthread_create(&threads[i], &attributes, body, nullptr) != 0) return 1;
  for (int i = 0; i < count; i++) pthread_join(threads[i], nullptr);
  return 0;
}

int main(int count, char **arguments) {
  const char *what = count > 1 ? arguments[1] : "";
  if (strcmp(what, "chain") == 0) chain_one(1);
  else if (strcmp(what, "recursion") == 0) recursion(20000);
  else if (strcmp(what, "callback") == 0) sort_something();
  else if (strcmp(what, "handler") == 0) { signal(SIGUSR1, on_usr1); raise_it(); }
  else if (strcmp(what, "threads") == 0) return run_threads(0, in_thread, 2);
  else if (strcmp(what, "small") == 0) return run_threads(PTHREAD_STACK_MIN, in_thread, 4);
  else if (strcmp(what, "bare") == 0) run_bare_code();
  else if (strcmp(what, "jumps") == 0) jump_storm();
  else if (strcmp(what, "blocked") == 0) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);  // inherited by the thread, before it is sampled
    return run_threads(0, with_signals_blocked, 1);
  } else if (strcmp(what, "coroutine") == 0) {
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = malloc(65536);
    coroutine.uc_stack.ss_size = 65536;
    coroutine.uc_link = &main_context;
    makecontext(&coroutine, coroutine_body, 0);
    swapcontext(&main_context, &coroutine);
  } else if (strcmp(what, "sleep") == 0) {
    for (int i = 0; i < 100; i++) usleep(5000);
  } else {
    return 2;
  }
  puts("done");
  return 0;
}
