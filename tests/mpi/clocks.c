// Two ranks that exchange known messages in both directions: test_clocks. usage: clocks [stop]
// Each rank prints its CLOCK_MONOTONIC in ns, so that the test knows the difference. With `stop`, rank 0 prints
// its pid and stops itself between two calls.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 200 };

static long long monotonic(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv) {
  int rank, sent = 0, received = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int peer = 1 - rank;
  for (int i = 0; i < kRounds; i++) {
    sent = i;
    if (rank == 0) MPI_Send(&sent, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
    MPI_Recv(&received, 1, MPI_INT, rank == 0 ? peer : MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&sent, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
    MPI_Request requests[2];
    MPI_Irecv(&received, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&sent, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(&sent, 1, MPI_INT, peer, 3, &received, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (argc > 1) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      fprintf(stderr, "stopping %d\n", (int)getpid());
      kill(getpid(), SIGSTOP);
      MPI_Send(&sent, 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&received, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d monotonic %lld\n", rank, monotonic());
  MPI_Finalize();
  return 0;
}
