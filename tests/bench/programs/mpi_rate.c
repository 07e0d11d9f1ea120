// MPI calls at full speed. One rank: MPI_Test on a null request, also below ten calls of the program's own;
// MPI_Iprobe and MPI_Test that find nothing. Two ranks: 8-byte MPI_Send/MPI_Recv
// ping-pong and an 8-byte MPI_Allreduce. argv[1] "flood" N (one rank): N MPI_Test as fast as possible,
// to see what the drainer keeps up with. Prints "NAME NS" per line, from rank 0.
#include <mpi.h>
#include <string.h>

#include "rate_windows.h"

static int flag;
static MPI_Request null_request = MPI_REQUEST_NULL;

/// Calls MPI_Test from `depth` frames further down.
__attribute__((noinline)) static int test_below(int depth, int rounds) {
  if (depth > 0) return test_below(depth - 1, rounds) + 1;
  for (int i = 0; i < rounds; i++) MPI_Test(&null_request, &flag, MPI_STATUS_IGNORE);
  return 0;
}

int main(int count, char **arguments) {
  int rank, size;
  long long message = 1, sum;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (count > 2 && strcmp(arguments[1], "flood") == 0) {
    long calls = atol(arguments[2]);
    double start = now_ns();
    for (long i = 0; i < calls; i++) MPI_Test(&null_request, &flag, MPI_STATUS_IGNORE);
    printf("flood %.2f\n", (now_ns() - start) / (double)calls);
  } else if (size == 1) {
    MPI_Request request;
    MEASURE("MPI_Test(null)", 2000, 1, MPI_Test(&null_request, &flag, MPI_STATUS_IGNORE));
    MEASURE("the same, deep", 1, 2000, test_below(9, 2000));
    MEASURE("Iprobe, no message", 2000, 1, MPI_Iprobe(0, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    MPI_Irecv(&message, 1, MPI_LONG_LONG, 0, 7, MPI_COMM_WORLD, &request);
    MEASURE("Test, not done", 2000, 1, MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    if (rank == 0) {
      MEASURE("Send/Recv 8 B", 300, 2, MPI_Send(&message, 1, MPI_LONG_LONG, 1, 7, MPI_COMM_WORLD);
              MPI_Recv(&message, 1, MPI_LONG_LONG, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else if (rank == 1) {
      for (int i = 0; i < (WINDOWS + 10) * 300; i++) {
        MPI_Recv(&message, 1, MPI_LONG_LONG, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&message, 1, MPI_LONG_LONG, 0, 7, MPI_COMM_WORLD);
      }
    }
    if (rank == 0) {
      MEASURE("Allreduce 8 B", 300, 1, MPI_Allreduce(&message, &sum, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD));
    } else {
      for (int i = 0; i < (WINDOWS + 10) * 300; i++) MPI_Allreduce(&message, &sum, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
  return 0;
}
