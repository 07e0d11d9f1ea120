// An error handler of MPI throws through MPI_Send; afterwards 100 MPI_Allreduce from frames far below the one
// that was left. Prints "caught 3 sum N".
#include <mpi.h>

#include <cstdio>

static void throw_error(MPI_Comm *, int *error, ...) { throw *error; }

__attribute__((noinline)) static int reduce_below() {
  volatile char room[100000];
  for (size_t i = 0; i < sizeof room; i += 64) room[i] = 1;
  int one = 1, sum = 0;
  for (int i = 0; i < 100; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

int main(int count, char **arguments) {
  MPI_Init(&count, &arguments);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(throw_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  int caught = 0, value = 0, rank;
  for (int i = 0; i < 3; i++) {
    try {
      MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    } catch (int) {
      caught++;
    }
  }
  int sum = reduce_below();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("caught %d sum %d\n", caught, sum);
  MPI_Finalize();
  return 0;
}
