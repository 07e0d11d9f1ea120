/* Two ranks that exchange messages and write to a file, and keep count of both where no kill can reach it.
 *
 * usage: counted FOLDER ROUNDS
 * FOLDER/HOST.PID is a shared mapping of two counts: MPI_Sendrecv and pwrite calls that have returned. A call that is in the
 * trace but not yet counted is possible (the kill came between), one that is counted but not in the trace is a loss. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
  char path[500], host[100] = "";
  int rank;
  long mine = 1, other, rounds = argc > 2 ? atol(argv[2]) : 0;
  gethostname(host, sizeof host - 1);
  snprintf(path, sizeof path, "%s/%s.%d", argc > 1 ? argv[1] : ".", host, (int)getpid());
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0666), sink = open("/dev/null", O_WRONLY);
  if (file < 0 || ftruncate(file, 4096) != 0) return 70;
  volatile uint64_t *counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (counts == MAP_FAILED) return 71;
  for (long i = 0; i < rounds; i++) {
    MPI_Sendrecv(&mine, 1, MPI_LONG, 1 - rank, 1, &other, 1, MPI_LONG, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    counts[0]++;
    if (pwrite(sink, &mine, sizeof mine, 0) != sizeof mine) return 72;
    counts[1]++;
  }
  MPI_Finalize();
  return 0;
}
