/* Two ranks that go on writing after MPI_Finalize, and keep count where no kill can reach it. (C14)
 *
 * usage: late FOLDER ROUNDS
 * FOLDER/HOST.PID is a shared mapping: MPI_Sendrecv and pwrite calls that have returned, and 1 once the end has begun. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile uint64_t *counts;
static int sink;
static long rounds;

static void write_blocks(long count) {
  char block[8] = {0};
  for (long i = 0; i < count; i++) {
    if (pwrite(sink, block, sizeof block, 0) != sizeof block) _exit(72);
    counts[1]++;
  }
}

/* The last of the program, in a destructor: longer than any test waits. */
__attribute__((destructor)) static void at_unload(void) {
  if (counts != NULL) write_blocks(rounds);
}

int main(int argc, char **argv) {
  char path[500], host[100] = "";
  int rank;
  long mine = 1, other;
  rounds = argc > 2 ? atol(argv[2]) : 0;
  gethostname(host, sizeof host - 1);
  snprintf(path, sizeof path, "%s/%s.%d", argc > 1 ? argv[1] : ".", host, (int)getpid());
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0666);
  sink = open("/dev/null", O_WRONLY);
  if (file < 0 || ftruncate(file, 4096) != 0) return 70;
  volatile uint64_t *mapping = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapping == MAP_FAILED) return 71;
  counts = mapping;
  for (long i = 0; i < 2000; i++) {
    MPI_Sendrecv(&mine, 1, MPI_LONG, 1 - rank, 1, &other, 1, MPI_LONG, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    counts[0]++;
    write_blocks(1);
  }
  counts[2] = 1;
  MPI_Finalize();
  write_blocks(10000);
  return 0;
}
