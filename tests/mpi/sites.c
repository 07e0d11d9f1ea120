// MPI calls from known lines by known ways, two ranks: rank 0 sends 3 messages by left() and 5 by right(), both
// reduce 4 times in reduce(). test_sites looks for the comments LINE to know the lines.
#include <mpi.h>

#define OWN_FRAME __attribute__((noinline))

static int rank, message;

OWN_FRAME void exchange(int count) {
  for (int i = 0; i < count; i++) {
    if (rank == 0) MPI_Send(&message, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);                            // LINE MPI_Send
    if (rank == 1) MPI_Recv(&message, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);         // LINE MPI_Recv
  }
}

OWN_FRAME void left(void) {
  exchange(3);  // LINE left
  message++;
}

OWN_FRAME void right(void) {
  exchange(5);  // LINE right
  message++;
}

OWN_FRAME void reduce(void) {
  int sum;
  for (int i = 0; i < 4; i++) MPI_Allreduce(&message, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // LINE MPI_Allreduce
  message = sum;
}

int main(int count, char **arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  left();
  right();
  reduce();  // LINE reduce
  MPI_Finalize();
  return 0;
}
