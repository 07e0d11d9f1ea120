/* Prints the descriptor numbers that a program gets: the same with the library as without, at any moment.
   usage: numbers      built with -DWITH_MPI it does it all after MPI_Init, too
   First below the threshold of recording, then across it, in threads, in a child, after closing all, without the
   standard ones, and up to the limit: how many opens there are before EMFILE. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kSay = 900, kLimit = 1000 };

static void say(const char *format, ...) {
  char line[200];
  va_list list;
  va_start(list, format);
  int length = vsnprintf(line, sizeof line, format, list);
  va_end(list);
  if (write(kSay, line, (size_t)length) != length) _exit(70);
}

static void write_blocks(int count) {
  char block[64] = {0};
  int fd = open("/dev/null", O_WRONLY);
  for (int i = 0; i < count; i++)
    if (write(fd, block, sizeof block) != sizeof block) _exit(71);
  close(fd);
}

static void *numbers_of_thread(void *where) {
  write_blocks(100);
  int fd = open("/dev/null", O_RDONLY), pair[2];
  pipe(pair);
  say("%s: open %d, pipe %d %d\n", (const char *)where, fd, pair[0], pair[1]);
  close(fd);
  close(pair[0]);
  close(pair[1]);
  return NULL;
}

static void opens_until_limit(const char *where) {
  static int fds[kLimit];
  int count = 0;
  while (count < kLimit && (fds[count] = open("/dev/null", O_RDONLY)) >= 0) count++;
  int error = errno;
  int more = socket(AF_UNIX, SOCK_STREAM, 0);
  FILE *stream = fopen("/dev/null", "r");
  say("%s: %d opens from %d to %d, then %s; socket %d, fopen %d\n", where, count, fds[0], count == 0 ? -1 : fds[count - 1],
      strerrorname_np(error), more, stream != NULL);
  while (count > 0) close(fds[--count]);
}

static void inherited(const char *where) {
  char line[4000] = "";
  for (int fd = 0; fd < kLimit; fd++)
    if (fcntl(fd, F_GETFD) != -1) snprintf(line + strlen(line), sizeof line - strlen(line), " %d", fd);
  say("%s: open are%s\n", where, line);
}

static void numbers(const char *stage) {
  char where[100];
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  numbers_of_thread((void *)stage);
  inherited(stage);
  opens_until_limit(stage);
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    snprintf(where, sizeof where, "%s, thread", stage);
    pthread_create(&threads[i], NULL, numbers_of_thread, where);
    pthread_join(threads[i], NULL);
  }
  pid_t child = fork();
  if (child == 0) {
    snprintf(where, sizeof where, "%s, child", stage);
    numbers_of_thread(where);
    inherited(where);
    opens_until_limit(where);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  /* A limit just above what is open: nobody but the program may take the last one. */
  int lowest = open("/dev/null", O_RDONLY);
  close(lowest);
  struct rlimit low = {(rlim_t)lowest + 3, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &low);
  opens_until_limit("three are left");
  write_blocks(3000);
  opens_until_limit("three are left, after more I/O");
  setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv) {
  struct rlimit limit = {kLimit, kLimit};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || dup2(1, kSay) != kSay) return 72;
  /* What we were started with is not our subject. */
  for (int fd = 3; fd < kLimit; fd++)
    if (fd != kSay) close(fd);
  numbers("start");
  write_blocks(3000);
  numbers("recorded");
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
  opens_until_limit("after MPI_Init");
  MPI_Barrier(MPI_COMM_WORLD);
  numbers("after MPI_Barrier");
  MPI_Finalize();
#else
  for (int fd = 0; fd < kLimit; fd++)
    if (fd != kSay) close(fd);
  write_blocks(3000);
  numbers("all closed");
  int first = open("/dev/null", O_RDONLY), second = open("/dev/null", O_WRONLY), third = dup(second);
  say("standard ones: %d %d %d\n", first, second, third);
  numbers("others in the place of the standard ones");
#endif
  return 0;
}
