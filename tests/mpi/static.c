/* MPI inside the program itself, where no preloaded library can come between; 2 ranks: 20 MPI_Allreduce, and enough
   I/O to be recorded for it. Prints "OK static" on rank 0. (A9) */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
  static char bytes[1 << 20];
  int me, sum = 0, file = open("/dev/null", O_WRONLY);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  for (int i = 0; i < 20; i++) MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 20; i++)
    if (write(file, bytes, sizeof(bytes)) != sizeof(bytes)) return 1;
  MPI_Finalize();
  if (me == 0 && sum == 38) puts("OK static");
  return 0;
}
