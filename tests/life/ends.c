/* Known work, then one of many ways to end: what was done must be in the trace whatever the end is.
 *
 * usage: ends WAY      built with -DWITHOUT_MPI it is a plain program
 * Work: 50 times an MPI_Allreduce (with MPI) and two pwrites of 512 bytes to ends.RANK. */
#define _GNU_SOURCE
#include <fcntl.h>
#ifndef WITHOUT_MPI
#include <mpi.h>
#endif
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int file = -1, rank, finalizes_at_exit, writes_at_exit;
static const char *way;

static int is(const char *name) { return strcmp(way, name) == 0; }

static void write_blocks(int count) {
  char block[512] = {0};
  for (int i = 0; i < count; i++)
    if (pwrite(file, block, sizeof block, 0) != sizeof block) _exit(70);
}

static void say(const char *text) {
  char line[100];
  int length = snprintf(line, sizeof line, "%d: %s\n", rank, text);
  if (write(1, line, length) != length) _exit(71);
}

static void finish_mpi(void) {
#ifndef WITHOUT_MPI
  MPI_Finalize();
#endif
}

/* As a C++ wrapper's or Python's destructor does it. */
__attribute__((destructor)) static void at_unload(void) {
#ifndef WITHOUT_MPI
  int is_done;
  if (finalizes_at_exit) {
    MPI_Finalize();
    MPI_Finalized(&is_done);
    say(is_done ? "finalized" : "not finalized");
  }
#endif
  if (writes_at_exit) write_blocks(3);
}

static void *write_for_ever(void *unused) {
  for (;;) write_blocks(1);
  return unused;
}

static void on_signal(int number) {
  say("the program's own handler ran");
  signal(number, SIG_DFL);
  raise(number);
}

static void allocate_until_killed(void) {
  for (;;) memset(malloc(1 << 20), 1, 1 << 20);
}

static int end_by(void) {
  if (is("return0")) return 0;
  if (is("return42")) return 42;
  if (is("late")) write_blocks(100);
  if (is("exit0")) exit(0);
  if (is("_exit")) _exit(5);
  if (is("quick_exit")) quick_exit(6);
  if (is("abort")) abort();
  if (is("segv")) *(volatile int *)NULL = 1;
  if (is("term") || is("handler")) raise(SIGTERM);
  if (is("segv_handler")) raise(SIGSEGV);
  if (is("kill")) raise(SIGKILL);
  if (is("memory")) allocate_until_killed();
  if (is("closed")) {
    close(0);
    close(1);
    close(2);
    write_blocks(10);
  }
  if (is("threads")) {
    pthread_t thread;
    for (int i = 0; i < 2; i++) pthread_create(&thread, NULL, write_for_ever, NULL);
    usleep(20000);
  }
#ifndef WITHOUT_MPI
  if (is("mpi_abort")) {
    if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 9);
    for (;;) pause();
  }
  if (is("one_left")) _exit(0);
#endif
  return 0;
}

int main(int argc, char **argv) {
  way = argc > 1 ? argv[1] : "return0";
  struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (is("handler")) signal(SIGTERM, on_signal);
  if (is("segv_handler")) signal(SIGSEGV, on_signal);
#ifndef WITHOUT_MPI
  if (!is("no_init")) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
#endif
  char name[40];
  snprintf(name, sizeof name, "ends.%d", rank);
  file = open(name, O_WRONLY | O_CREAT, 0600);
  for (int i = 0; i < 50; i++) {
#ifndef WITHOUT_MPI
    int sum = 0, one = 1;
    if (!is("no_init")) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#endif
    write_blocks(2);
  }
  say("worked");
#ifndef WITHOUT_MPI
  if (!is("no_init")) MPI_Barrier(MPI_COMM_WORLD); /* a launcher may kill the others when one has ended */
#endif
  finalizes_at_exit = is("destructor");
  writes_at_exit = is("destructor") || is("static_object");
  if (is("return0") || is("return42") || is("late") || is("closed") || is("threads") || is("static_object")) finish_mpi();
  return end_by();
}
