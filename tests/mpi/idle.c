/* Ranks that do no I/O of their own, but for rank 0: 100 writes to /dev/null. Prints nothing. (E11) */
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int rank, sum = 0, one = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    int file = open("/dev/null", O_WRONLY);
    for (int i = 0; i < 100; i++)
      if (write(file, "0123456789", 10) != 10) return 70;
    close(file);
  }
  /* Some processor time, so that samples are taken, rings are flushed, counters are read. */
  for (int i = 0; i < 20000; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
