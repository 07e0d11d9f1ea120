// Programs that leave I/O calls in awkward ways, or ask libc for what a wrapper might spoil. Each part does
// its deed and then, where the recording of the thread might have ended without a word, 300 writes of 3 bytes
// to /dev/null from frames far below and 300 from above. Prints what the caller compares.
// usage: awkward_io PART [ARGUMENT]
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static int sink;
static volatile int zero;  // hides constants from the compiler
static int ends[2];
static char buffer[64];

__attribute__((noinline)) static void write_above() {
  for (int i = 0; i < 300; i++) pwrite(sink, "abc", 3, 0);
}
__attribute__((noinline)) static void write_below() {
  volatile char room[100000];
  for (size_t i = 0; i < sizeof room; i += 64) room[i] = 1;
  write_above();
}
static void write_all() {
  write_below();
  write_above();
}

/// True once the thread is blocked in read(); by bare system calls, so that nothing of it is recorded.
static bool is_reading(pid_t process, pid_t thread) {
  char path[64], text[8] = "";
  snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", process, thread);
  int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY));
  syscall(SYS_read, fd, text, sizeof text - 1);
  syscall(SYS_close, fd);
  return !strncmp(text, "0 0x", 4);
}
static void pause_a_little() {
  timespec time = {0, 200000};
  nanosleep(&time, nullptr);
}

/// Has SIGALRM sent to this thread as soon as it is blocked in read().
static void alarm_when_reading() {
  pid_t process = getpid(), thread = gettid();
  if (fork() != 0) return;
  while (kill(process, 0) == 0 && !is_reading(process, thread)) pause_a_little();
  syscall(SYS_tgkill, process, thread, SIGALRM);
  _exit(0);
}

static void nulls() {
  FILE *no_stream = reinterpret_cast<FILE *>(static_cast<uintptr_t>(zero));
  DIR *no_directory = reinterpret_cast<DIR *>(static_cast<uintptr_t>(zero));
  const char *no_path = reinterpret_cast<const char *>(static_cast<uintptr_t>(zero));
  size_t none = static_cast<size_t>(zero);
  int result = closedir(no_directory);
  printf("closedir %d %s\n", result, strerrorname_np(errno));
  printf("fread %zu fwrite %zu\n", fread(buffer, none, 5, no_stream), fwrite(buffer, 1, none, no_stream));
  printf("unlocked %zu %zu\n", fread_unlocked(buffer, 1, none, no_stream), fwrite_unlocked(buffer, none, 1, no_stream));
  result = open(no_path, O_RDONLY);
  printf("open %d %s\n", result, strerrorname_np(errno));
  result = access(no_path, R_OK);
  printf("access %d %s\n", result, strerrorname_np(errno));
  result = pipe(reinterpret_cast<int *>(static_cast<uintptr_t>(zero)));
  printf("pipe %d %s\n", result, strerrorname_np(errno));
}

// Where libc itself crashes, so do we, and nowhere else: the caller compares the ends.
static void null_stream(const char *function) {
  FILE *no_stream = reinterpret_cast<FILE *>(static_cast<uintptr_t>(zero));
  if (!strcmp(function, "fclose")) fclose(no_stream);
  if (!strcmp(function, "pclose")) pclose(no_stream);
  if (!strcmp(function, "fread")) printf("%zu\n", fread(buffer, 1, 1, no_stream));
  if (!strcmp(function, "freopen")) printf("%d\n", freopen("/dev/null", "r", no_stream) != nullptr);
}

static void vfork_killed() {
  close(ends[0]);
  pid_t child = vfork();
  if (child == 0) {
    write(ends[1], "x", 1);  // SIGPIPE
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  printf("signal %d\n", WTERMSIG(status));
  write_all();
}

// What the child does to its descriptors is not what the parent's mean.
static void vfork_moved() {
  int file = open("mine", O_CREAT | O_RDWR, 0600);
  pid_t child = vfork();
  if (child == 0) {
    dup2(ends[1], file);
    write(file, "12345", 5);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  for (int i = 0; i < 100; i++) write(file, "0123456789", 10);
  write_all();
}

static void throw_out(int) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  throw 5;
}
static void throwing() {
  signal(SIGALRM, throw_out);
  int caught = 0;
  for (int i = 0; i < 3; i++) {
    alarm_when_reading();
    try {
      read(ends[0], buffer, 1);
    } catch (int) {
      caught++;
      write_all();
    }
  }
  printf("caught %d\n", caught);
}

static void write_cleanup(void *) { write_above(); }
static volatile pid_t cancelled_thread;
static void *cancel_me(void *) {
  cancelled_thread = gettid();
  pthread_cleanup_push(write_cleanup, nullptr);
  read(ends[0], buffer, 1);
  pthread_cleanup_pop(0);
  return nullptr;
}
static void cancelled() {
  int count = 0;
  for (int i = 0; i < 5; i++) {
    pthread_t thread;
    void *result;
    cancelled_thread = 0;
    pthread_create(&thread, nullptr, cancel_me, nullptr);
    while (cancelled_thread == 0 || !is_reading(getpid(), cancelled_thread)) pause_a_little();
    pthread_cancel(thread);
    pthread_join(thread, &result);
    count += result == PTHREAD_CANCELED;
  }
  printf("cancelled %d\n", count);
}

static sigjmp_buf place;
static ucontext_t main_context;
static volatile int mode;
static void jump_out(int) {
  if (mode == 0) siglongjmp(place, 1);
  setcontext(&main_context);
}
static void jumped(int with_context) {
  static char stack[65536];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = jump_out;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGALRM, &action, nullptr);
  mode = with_context;
  static volatile int turn;
  turn = 0;
  if (with_context) getcontext(&main_context);
  if (with_context ? turn++ == 0 : sigsetjmp(place, 1) == 0) {
    alarm_when_reading();
    read(ends[0], buffer, 1);
  }
  if (with_context) pwrite(sink, "ab", 2, 0);  // here only a frame that is not below tells
  write_all();
}

static void *high;  // memory above the thread's stack
static void write_in_handler(int) { pwrite(sink, "x", 1, 0); }
static void reentered(int on_stack) {
  if (on_stack) {
    stack_t alternate = {};
    alternate.ss_size = 65536;
    alternate.ss_sp = high != nullptr ? high : malloc(alternate.ss_size);
    sigaltstack(&alternate, nullptr);
  }
  struct sigaction action = {};
  action.sa_handler = write_in_handler;
  action.sa_flags = on_stack ? SA_ONSTACK : 0;
  sigaction(SIGALRM, &action, nullptr);
  for (int i = 0; i < 3; i++) {
    alarm_when_reading();
    read(ends[0], buffer, 1);  // EINTR
  }
  write_all();
}
static void *reentered_thread(void *) {
  reentered(1);
  return nullptr;
}
// The thread's stack lies below the alternate one, which then looks like a frame further out.
static void reentered_in_thread() {
  size_t size = 1 << 20;
  char *memory = static_cast<char *>(mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  high = memory + size;
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, memory, size);
  pthread_create(&thread, &attributes, reentered_thread, nullptr);
  pthread_join(thread, nullptr);
}

static void write_tens(int fd) {
  for (int i = 0; i < 100; i++) write(fd, "0123456789", 10);
}
static void reused(const char *way) {
  char name[] = "madeXXXXXX";
  FILE *stream;
  DIR *directory;
  int fd = -1;
  if (!strcmp(way, "popen")) {
    stream = popen("echo hello", "r");
    fread(buffer, 1, 64, stream);
    pclose(stream);
    fd = mkstemp(name);
  } else if (!strcmp(way, "closedir")) {
    directory = opendir("/etc");
    struct stat *status = static_cast<struct stat *>(malloc(sizeof(struct stat)));
    fsync(dirfd(directory));
    closedir(directory);
    fd = mkostemp(name, O_CLOEXEC);
    free(status);
  } else if (!strcmp(way, "tmpfile")) {
    stream = tmpfile();
    fwrite("x", 1, 1, stream);
    fclose(stream);
    fd = mkstemps(name, 0);
  } else if (!strcmp(way, "bare")) {  // closed behind libc's back, made by libc
    fd = open("/dev/zero", O_RDONLY);
    read(fd, buffer, 8);
    syscall(SYS_close, fd);
    fd = mkstemp(name);
  } else if (!strcmp(way, "memfd")) {
    fd = open("/dev/zero", O_RDONLY);
    read(fd, buffer, 8);
    syscall(SYS_close, fd);
    fd = memfd_create("made", 0);
  } else if (!strcmp(way, "fdopendir")) {
    fd = open("/etc", O_RDONLY | O_DIRECTORY);
    fsync(fd);
    closedir(fdopendir(fd));
    fd = mkstemp(name);
  } else if (!strcmp(way, "dup")) {
    fd = dup(sink);
    write(fd, "x", 1);
    close(fd);
    stream = popen("cat >/dev/null", "w");
    fwrite("x", 1, 1, stream);
    pclose(stream);
    fd = mkstemp(name);
  }
  write_tens(fd);
  char link[64], path[256];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  path[readlink(link, path, sizeof path - 1)] = 0;
  printf("%s\n", path);
}

// An ordinary user may lock 8 MiB. `when`: what is locked before or after the process is recorded.
static void locked(const char *when) {
  rlimit limit = {8 << 20, 8 << 20};
  setrlimit(RLIMIT_MEMLOCK, &limit);
  if (strstr(when, "after")) write_above();
  if (geteuid() == 0) setresuid(65534, 65534, 65534);
  int result = mlockall(strstr(when, "future") ? MCL_CURRENT | MCL_FUTURE : MCL_CURRENT);
  printf("mlockall %d %s\n", result, result ? strerrorname_np(errno) : "ok");
  write_above();
  void *block = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("block %d\n", block != MAP_FAILED);
}

static void limited(int resource) {
  rlimit limit = {12 << 20, 12 << 20};
  setrlimit(resource, &limit);
  write_all();
  printf("malloc %d\n", malloc(4 << 20) != nullptr);
}

// SECCOMP_MODE_STRICT kills at any system call but read, write and exit. `before`: writes until then.
static void sealed(int before) {
  int zeros = open("/dev/zero", O_RDONLY);
  for (int i = 0; i < before; i++) write(sink, "abc", 3);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
    printf("no seccomp\n");
    _exit(77);
  }
  for (int i = 0; i < 1000; i++) {
    read(zeros, buffer, 1);
    write(sink, "abc", 3);
  }
  write(1, "sealed\n", 7);
  syscall(SYS_exit, 0);
}

int main(int count, char **arguments) {
  const char *part = count > 1 ? arguments[1] : "", *argument = count > 2 ? arguments[2] : "";
  setvbuf(stdout, nullptr, _IONBF, 0);
  sink = open("/dev/null", O_WRONLY);
  if (pipe(ends) != 0) return 1;
  if (!strcmp(part, "nulls")) nulls();
  else if (!strcmp(part, "null_stream")) null_stream(argument);
  else if (!strcmp(part, "vfork_killed")) vfork_killed();
  else if (!strcmp(part, "vfork_moved")) vfork_moved();
  else if (!strcmp(part, "throwing")) throwing();
  else if (!strcmp(part, "cancelled")) cancelled();
  else if (!strcmp(part, "jumped")) jumped(0);
  else if (!strcmp(part, "switched")) jumped(1);
  else if (!strcmp(part, "reentered")) reentered(0);
  else if (!strcmp(part, "reentered_on_stack")) reentered(1);
  else if (!strcmp(part, "reentered_in_thread")) reentered_in_thread();
  else if (!strcmp(part, "reused")) reused(argument);
  else if (!strcmp(part, "locked")) locked(argument);
  else if (!strcmp(part, "limited")) limited(!strcmp(argument, "as") ? RLIMIT_AS : RLIMIT_DATA);
  else if (!strcmp(part, "sealed")) sealed(atoi(argument));
  else return 2;
  return 7;
}
