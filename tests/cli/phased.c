/* One MPI process that does two rounds of calls and keeps its own count where no kill can reach it.
 *
 * usage: phased COUNTS FIRST SECOND
 * Stops itself (SIGSTOP) after FIRST and after SECOND pairs of MPI_Sendrecv and pwrite; the test lets it go on or kills it.
 * COUNTS is a shared mapping of two numbers: calls of each kind that have returned. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
  long mine = 1, other;
  MPI_Init(&argc, &argv);
  int file = open(argv[1], O_RDWR | O_CREAT | O_EXCL, 0666), sink = open("/dev/null", O_WRONLY);
  if (file < 0 || sink < 0 || ftruncate(file, 4096) != 0) return 70;
  volatile uint64_t *counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (counts == MAP_FAILED) return 71;
  for (int phase = 2; phase < argc; phase++) {
    for (long i = 0; i < atol(argv[phase]); i++) {
      MPI_Sendrecv(&mine, 1, MPI_LONG, 0, 1, &other, 1, MPI_LONG, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
      counts[0]++;
      if (pwrite(sink, &mine, sizeof mine, 0) != sizeof mine) return 72;
      counts[1]++;
    }
    raise(SIGSTOP);
  }
  MPI_Finalize();
  return 0;
}
