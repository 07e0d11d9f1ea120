/* Does a known list of I/O calls in the current directory; known_io.expected says what must be seen.
   Built with -O2 -D_FORTIFY_SOURCE=2, so that calls with lengths and flags that the compiler does not
   know go to the fortified twins. Exits 1, naming the line, when a result is not what POSIX says.
   usage: known_io PART...      (names in `parts` below; some are in known_kinds.c and known_sockets.c) */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known_io.h"

volatile int zero;
char buffer[4096];

static mode_t mode_of(const char *path) {
  struct stat status;
  CHECK(lstat(path, &status) == 0);
  return status.st_mode & 07777;
}

static void posix(void) {
  struct stat status;
  size_t n = 10 + zero;
  char small[64];
  CHECK(mkdir("dir", 0755) == 0);
  int fd = open("data", O_CREAT | O_RDWR | O_TRUNC, 0640);
  CHECK(fd == 3 && write(fd, buffer, 100) == 100 && pwrite(fd, buffer, 50, 100) == 50);
  struct iovec parts[2] = {{buffer, 30}, {buffer, 20}};
  CHECK(lseek(fd, 150, SEEK_SET) == 150 && writev(fd, parts, 2) == 50);
  CHECK(pwritev(fd, parts, 2, 200) == 50 && pwritev2(fd, parts, 1, 250, 0) == 30);
  CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, small, n) == 10 && pread(fd, small, n, 20) == 10);
  CHECK(readv(fd, parts, 2) == 50 && preadv(fd, parts, 1, 0) == 30 && preadv2(fd, parts, 2, 0, 0) == 50);
  CHECK(fsync(fd) == 0 && fdatasync(fd) == 0 && fstat(fd, &status) == 0 && status.st_size == 280);
  CHECK(ftruncate(fd, 200) == 0 && close(fd) == 0);
  CHECK(mode_of("data") == 0640);
  fd = open("./dir/..//data", O_RDONLY | zero); /* __open_2; another way to write the path is another file */
  CHECK(fd == 3 && read(fd, small, n) == 10 && close(fd) == 0);
  int dir = open("dir", O_RDONLY | O_DIRECTORY); /* no mode, although O_TMPFILE contains O_DIRECTORY */
  CHECK(dir == 3);
  fd = openat(dir, "inner", O_CREAT | O_WRONLY, 0604);
  CHECK(fd == 4 && write(fd, buffer, 7) == 7 && close(fd) == 0 && mode_of("dir/inner") == 0604);
  fd = openat(dir, "inner", O_RDONLY | zero); /* __openat_2 */
  CHECK(fd == 4 && close(fd) == 0);
  CHECK(fstatat(dir, "inner", &status, 0) == 0 && status.st_size == 7);
  CHECK(fstatat(dir, "", &status, AT_EMPTY_PATH) == 0 && S_ISDIR(status.st_mode));
  CHECK(unlinkat(dir, "inner", 0) == 0 && close(dir) == 0 && rmdir("dir") == 0);
  CHECK(stat("data", &status) == 0 && access("data", R_OK) == 0 && truncate("data", 5) == 0);
  CHECK(rename("data", "renamed") == 0 && stat("missing", &status) == -1 && errno == ENOENT);
  CHECK(unlink("renamed") == 0);
}

static void wide(void) { /* beyond 32 bits, through the 64-bit twins */
  struct stat64 status;
  int fd = open64("sparse", O_CREAT | O_RDWR, 0600);
  CHECK(fd == 3 && pwrite64(fd, "Z", 1, 5LL << 30) == 1 && fstat64(fd, &status) == 0);
  CHECK(status.st_size == (5LL << 30) + 1 && lseek64(fd, -1, SEEK_END) == 5LL << 30);
  char byte = 0;
  CHECK(read(fd, &byte, 1) == 1 && byte == 'Z' && pread64(fd, &byte, 1, 5LL << 30) == 1);
  CHECK(ftruncate64(fd, 0) == 0 && close(fd) == 0 && stat64("sparse", &status) == 0 && unlink("sparse") == 0);
}

static void duplicates(void) { /* five descriptors of one file, then the numbers mean something else */
  int fd = open("data", O_CREAT | O_WRONLY, 0600);
  int copies[] = {dup(fd), dup2(fd, 50), dup3(fd, 60, O_CLOEXEC), fcntl(fd, F_DUPFD, 70), fcntl(fd, F_DUPFD_CLOEXEC, 80)};
  CHECK(fd == 3 && copies[0] == 4 && copies[3] == 70 && copies[4] == 80);
  for (int i = 0; i < 5; i++) CHECK(write(copies[i], buffer, 10 + i) == 10 + i);
  CHECK(close(3) == 0 && close_range(4, 60, 0) == 0);
  int other = open("other", O_CREAT | O_WRONLY, 0600);
  CHECK(other == 3 && dup2(other, 70) == 70 && write(70, buffer, 100) == 100 && write(80, buffer, 1) == 1);
  closefrom(70);
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pair[0] == 4 && write(4, buffer, 3) == 3 && read(5, buffer, 9) == 3);
  CHECK(close(4) == 0 && close(5) == 0 && pipe(pair) == 0 && write(5, buffer, 2) == 2 && read(4, buffer, 9) == 2);
  closefrom(3);
  CHECK(unlink("data") == 0 && unlink("other") == 0);
}

static void streams(void) {
  size_t n = 20 + zero;
  char small[64];
  FILE *stream = fopen("text", "w");
  CHECK(stream && fwrite(buffer, 4, 25, stream) == 25 && fclose(stream) == 0);
  stream = fopen64("text", "r");
  CHECK(stream && fread(small, 1, n, stream) == 20 && fread(buffer, 10, 100, stream) == 8 && fclose(stream) == 0);
  CHECK(fopen("missing", "r") == NULL && errno == ENOENT);
  char memory[32];
  stream = fmemopen(memory, sizeof memory, "w"); /* no file: not seen */
  CHECK(stream && fwrite("abc", 1, 3, stream) == 3 && fclose(stream) == 0 && !strcmp(memory, "abc"));
  CHECK(unlink("text") == 0);
}

static void failures(void) { /* errno and bad pointers come through as without us */
  char *volatile nowhere = NULL;
  CHECK(open("/nonexistent/file", O_RDONLY) == -1 && errno == ENOENT);
  CHECK(read(99, buffer, 1) == -1 && errno == EBADF && close(99) == -1 && errno == EBADF);
  int fd = open("data", O_CREAT | O_RDWR, 0600);
  CHECK(write(fd, nowhere, 10) == -1 && errno == EFAULT && open(nowhere, O_RDONLY) == -1 && errno == EFAULT);
  errno = 4242;
  CHECK(write(fd, buffer, 1) == 1 && lseek(fd, 0, SEEK_SET) == 0 && errno == 4242);
  CHECK(lseek(fd, -5, SEEK_SET) == -1 && errno == EINVAL && close(fd) == 0 && unlink("data") == 0 && errno == EINVAL);
}

static void excluded(void) { /* neither /proc nor /sys is part of a profile */
  int fd = open("/proc/self/status", O_RDONLY);
  CHECK(fd == 3 && read(fd, buffer, 100) == 100 && close(fd) == 0);
  struct stat status;
  CHECK(stat("/sys", &status) == 0 && chdir("/proc/self") == 0);
  FILE *stream = fopen("status", "r");
  CHECK(stream && fread(buffer, 1, 10, stream) == 10 && fclose(stream) == 0);
  CHECK(stat("/process", &status) == -1 && errno == ENOENT); /* not below /proc */
}

static int reap(pid_t pid) {
  int status;
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void children(void) {
  int fd = open("parent", O_CREAT | O_WRONLY, 0600);
  CHECK(fd == 3 && write(fd, buffer, 1000) == 1000);
  pid_t pid = fork();
  if (pid == 0) { /* another process: its own record, its own ids, the inherited descriptor known */
    CHECK(write(fd, buffer, 10) == 10 && close(fd) == 0);
    fd = open("child", O_CREAT | O_WRONLY, 0600);
    CHECK(fd == 3 && write(fd, buffer, 20) == 20);
    _exit(7);
  }
  CHECK(reap(pid) == 7);
  pid = vfork();
  if (pid == 0) { /* shares our memory: nothing of this may change what 3 and 4 mean for us */
    close(3);
    if (open("/dev/null", O_WRONLY) != 3 || dup2(3, 4) != 4) _exit(1);
    execle("/bin/true", "true", (char *)NULL, (char *[]){NULL});
    _exit(99);
  }
  CHECK(reap(pid) == 0 && write(fd, buffer, 500) == 500);
  CHECK(close(fd) == 0 && unlink("parent") == 0 && unlink("child") == 0);
}

static void *work(void *name) {
  int fd = open(name, O_CREAT | O_WRONLY, 0600);
  for (int i = 0; i < 1000; i++) CHECK(write(fd, buffer, 8) == 8);
  CHECK(close(fd) == 0);
  return NULL;
}

static void threads(void) {
  struct stat status;
  CHECK(stat(".", &status) == 0); /* attached before they start: calls during the attachment pass by */
  char names[4][8];
  pthread_t ids[4];
  for (int i = 0; i < 4; i++) {
    snprintf(names[i], sizeof names[i], "work%d", i);
    CHECK(pthread_create(&ids[i], NULL, work, names[i]) == 0);
  }
  for (int i = 0; i < 4; i++) CHECK(pthread_join(ids[i], NULL) == 0 && unlink(names[i]) == 0);
}

static int report; /* written by the handler */
static void on_alarm(int number) {
  (void)number;
  int saved = errno;
  int fd = open("/dev/null", O_WRONLY);
  if (fd >= 0 && write(fd, buffer, 1) == 1) report++;
  close(fd);
  errno = saved;
}

static void handlers(void) { /* a handler that does I/O interrupts wrappers at any instruction */
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  struct itimerspec often = {{0, 200000}, {0, 200000}}, never = {{0, 0}, {0, 0}};
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0);
  int fd = open("data", O_CREAT | O_WRONLY, 0600);
  int count = 0;
  for (; count < 20000 || report < 20; count++) CHECK(write(fd, buffer, 16) == 16);
  CHECK(timer_settime(timer, 0, &never, NULL) == 0);
  struct stat status;
  CHECK(fstat(fd, &status) == 0 && status.st_size == 16LL * count && close(fd) == 0 && unlink("data") == 0);
  dprintf(1, "%d\n", count);
}

static void many(void) { /* more files than there are ids: what they cost this process stays small (E15) */
  struct rusage before, after;
  char name[32];
  CHECK(getrusage(RUSAGE_SELF, &before) == 0);
  for (int i = 0; i < 100000; i++) {
    snprintf(name, sizeof name, "f%d", i);
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    CHECK(fd == 3 && close(fd) == 0 && unlink(name) == 0);
  }
  CHECK(getrusage(RUSAGE_SELF, &after) == 0 && after.ru_maxrss - before.ru_maxrss < 64 * 1024);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } parts[] = {{"posix", posix},       {"wide", wide},         {"duplicates", duplicates}, {"streams", streams},
               {"failures", failures}, {"excluded", excluded}, {"children", children},     {"threads", threads},
               {"handlers", handlers}, {"many", many},
               {"text", text},         {"scanned", scanned},   {"paths", paths},           {"unnamed", unnamed},
               {"directories", directories}, {"copies", copies},     {"mapped", mapped},     {"requests", requests},
               {"streamed", streamed}, {"datagrams", datagrams}, {"local", local_sockets}};
  CHECK(errno == 0); /* the library must not leave a mark before main() */
  umask(022);
  memset(buffer, 'x', sizeof buffer);
  for (int wanted = 1; wanted < argc; wanted++) {
    size_t i = 0;
    while (i < sizeof parts / sizeof *parts && strcmp(argv[wanted], parts[i].name)) i++;
    if (i == sizeof parts / sizeof *parts) {
      dprintf(2, "known_io: no part '%s'\n", argv[wanted]);
      return 2;
    }
    parts[i].run();
  }
  return 0;
}
