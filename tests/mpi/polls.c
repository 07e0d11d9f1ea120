// Floods of polls with known numbers: two ranks; rank 0 asks N times each for a message that is not there with
// MPI_Iprobe and with MPI_Test before it lets rank 1 send it. Each rank prints how often it called which routine.
// usage: polls N [kill]      kill: rank 1 is killed by SIGKILL in the middle of its polls, when all else is done
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long probes, tests;

static int probe(int source, int tag) {
  int flag;
  MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  probes++;
  return flag;
}

static int test(MPI_Request *request) {
  int flag;
  MPI_Test(request, &flag, MPI_STATUS_IGNORE);
  tests++;
  return flag;
}

static void say(int rank) {
  printf("rank %d MPI_Iprobe %ld MPI_Test %ld\n", rank, probes, tests);
  fflush(stdout);
}

int main(int count, char **arguments) {
  int rank, go = 1, message = 0;
  long polls = atol(arguments[1]);
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    for (long i = 0; i < polls; i++)
      if (probe(1, 7)) abort();
    MPI_Request request;
    MPI_Irecv(&message, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, &request);
    for (long i = 0; i < polls; i++)
      if (test(&request)) abort();
    MPI_Send(&go, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    while (!probe(1, 7)) {
    }
    MPI_Recv(&message, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (!test(&request)) {
    }
  } else {
    while (!probe(0, 1)) usleep(1000);
    MPI_Recv(&message, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&go, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    MPI_Send(&go, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (count > 2 && strcmp(arguments[2], "kill") == 0 && rank == 1) {
    for (long i = 0; i < polls; i++) probe(0, 9);
    say(rank);
    kill(getpid(), SIGKILL);
  }
  say(rank);
  MPI_Finalize();
  return 0;
}
