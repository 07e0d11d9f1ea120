/* Processes that make processes, each with known I/O.
 *
 * usage: children WAY     prints what the program itself saw; exit 0 if it is what it should be
 * Built with -DWITHOUT_MPI it is a plain program. Files are made in the working directory. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#ifndef WITHOUT_MPI
#include <mpi.h>
#endif
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static int is_done;

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "children: %s\n", what);
  _exit(70);
}

static void write_blocks(const char *name, int count) {
  char block[100] = {0};
  int file = open(name, O_WRONLY | O_CREAT, 0600);
  for (int i = 0; i < count; i++) require(write(file, block, sizeof block) == sizeof block, "write");
  close(file);
}

static void wait_for(pid_t child, int wanted) {
  int status;
  require(child > 0 && waitpid(child, &status, 0) == child && status == wanted << 8, "a child ended otherwise");
}

/* A child that exits, one that leaves by _exit, one that has a child: each is a process of its own. */
static void forked(void) {
  write_blocks("parent", 10);
  pid_t child = fork();
  if (child == 0) {
    write_blocks("exits", 5);
    exit(1);
  }
  wait_for(child, 1);
  child = fork();
  if (child == 0) {
    write_blocks("leaves", 6);
    pid_t grandchild = fork();
    if (grandchild == 0) {
      write_blocks("grandchild", 7);
      _exit(3);
    }
    wait_for(grandchild, 3);
    _exit(2);
  }
  wait_for(child, 2);
  write_blocks("parent", 10);
}

static void *write_until_done(void *name) {
  while (!__atomic_load_n(&is_done, __ATOMIC_ACQUIRE)) write_blocks(name, 1);
  return NULL;
}

/* Forks while other threads are in the middle of a call; the children go on to call, and exit. */
static void threads(void) {
  pthread_t thread[2];
  pthread_create(&thread[0], NULL, write_until_done, "first");
  pthread_create(&thread[1], NULL, write_until_done, "second");
  for (int i = 0; i < 50; i++) {
    pid_t child = fork();
    if (child == 0) {
      write_blocks("child", 3);
      exit(4);
    }
    wait_for(child, 4);
  }
  __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
  write_blocks("parent", 10);
}

/* What a child finds open must be what it finds without us. */
static void descriptors(void) {
  write_blocks("parent", 10);
  pid_t child;
  char *arguments[] = {"sh", "-c", "exec ls -l /proc/self/fd | sed -n 's/.* \\([0-9]*\\) -> .*/\\1/p' | sort -n | paste -s -d ' '", NULL};
  require(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0, "posix_spawn");
  wait_for(child, 0);
  int ends[2];
  char byte;
  require(pipe(ends) == 0, "pipe");
  char *sleeper[] = {"sh", "-c", "exec sleep 0.1", NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  require(posix_spawn(&child, "/bin/sh", &actions, NULL, sleeper, environ) == 0, "posix_spawn");
  close(ends[1]);
  require(read(ends[0], &byte, 1) == 0, "the end of the pipe never came");
  wait_for(child, 0);
}

/* All signals are the program's: nobody takes one that is blocked everywhere. */
static void signals(void) {
  sigset_t set;
  int number;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  write_blocks("parent", 10);
  for (int i = 0; i < 100; i++) {
    require(kill(getpid(), SIGUSR1) == 0, "kill");
    require(sigwait(&set, &number) == 0 && number == SIGUSR1, "sigwait");
  }
}

/* The new image is a static program that burns processor time: no timer of ours may reach it. */
static void replaced(void) {
  write_blocks("parent", 10);
  execl("./burner", "burner", NULL);
}

/* fork is restarted when a signal comes in between: in a large process and with many signals it must still end. */
static void large(void) {
  size_t size = (size_t)1 << 29;
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(memory != MAP_FAILED, "mmap");
  for (size_t i = 0; i < size; i += 4096) memory[i] = 1;
  write_blocks("parent", 10);
  for (int i = 0; i < 20; i++) {
    pid_t child = fork();
    if (child == 0) _exit(5);
    wait_for(child, 5);
  }
}

/* Commands that inherit a rank's environment are not that rank. */
static void commands(void) {
  for (int i = 0; i < 30; i++) require(system("cat /etc/hosts >/dev/null") == 0, "system");
  write_blocks("parent", 10);
}

int main(int argc, char **argv) {
  static const struct { const char *name; void (*run)(void); } ways[] = {
      {"forked", forked},     {"threads", threads},   {"descriptors", descriptors}, {"signals", signals},
      {"replaced", replaced}, {"large", large},       {"commands", commands}};
#ifndef WITHOUT_MPI
  MPI_Init(&argc, &argv);
  int rank;
  char directory[20];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(directory, sizeof directory, "rank%d", rank);
  require(chdir(directory) == 0, "chdir");
#endif
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    if (argc > 1 && strcmp(argv[1], ways[i].name) == 0) ways[i].run();
#ifndef WITHOUT_MPI
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
#endif
  return syscall(SYS_write, 1, "done\n", 5) != 5;  /* in one piece, and no call of the program */
}
