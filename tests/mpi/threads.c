/* MPI_THREAD_MULTIPLE on 2 ranks: four threads that exchange messages at once, requests that one thread starts and
   another completes after the first has ended. What it does is in threads.json, the same for both ways:
   usage: threads [elsewhere]    elsewhere: MPI is initialised and finalised by a thread that is not the main one
   Prints "OK threads" on rank 0. (G15) (G16) */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) {                                             \
      fprintf(stderr, "threads.c:%d: wrong result\n", __LINE__);    \
      MPI_Abort(MPI_COMM_WORLD, 1);                                 \
    }                                                               \
  } while (0)

enum { kThreads = 4, kRounds = 150, kRequests = 100 };
static int me, other, provided;
static MPI_Comm lines[kThreads];
static MPI_Request requests[kRequests];
static int arrived[kRequests];
static pthread_barrier_t begun, done;

static void *exchange(void *number) {
  int line = (int)(long)number;
  for (int i = 0; i < kRounds; i++) {
    int out[2] = {me, i}, in[2];
    MPI_Sendrecv(out, 2, MPI_INT, other, line, in, 2, MPI_INT, other, line, lines[line], MPI_STATUS_IGNORE);
    CHECK(in[0] == other && in[1] == i);
  }
  return NULL;
}
static void *start_receives(void *nothing) {
  for (int i = 0; i < kRequests; i++) MPI_Irecv(&arrived[i], 1, MPI_INT, other, 10 + i, MPI_COMM_WORLD, &requests[i]);
  return nothing;
}
static void *own_mpi(void *nothing) {
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  pthread_barrier_wait(&begun);
  pthread_barrier_wait(&done);
  MPI_Finalize();
  return nothing;
}

int main(int argc, char **argv) {
  pthread_t owner, threads[kThreads];
  int is_elsewhere = argc > 1 && strcmp(argv[1], "elsewhere") == 0, size;
  if (is_elsewhere) {
    pthread_barrier_init(&begun, NULL, 2);
    pthread_barrier_init(&done, NULL, 2);
    pthread_create(&owner, NULL, own_mpi, NULL);
    pthread_barrier_wait(&begun);
  } else {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 2 && provided == MPI_THREAD_MULTIPLE);
  other = 1 - me;
  for (int i = 0; i < kThreads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &lines[i]);
  for (int i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, exchange, (void *)(long)i);
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  pthread_create(&threads[0], NULL, start_receives, NULL);
  pthread_join(threads[0], NULL);
  for (int i = 0; i < kRequests; i++) {
    MPI_Request request;
    MPI_Isend(&i, 1, MPI_INT, other, 10 + i, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < kRequests; i++) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    CHECK(arrived[i] == i);
  }
  for (int i = 0; i < kThreads; i++) MPI_Comm_free(&lines[i]);
  if (me == 0) puts("OK threads");
  fflush(stdout);
  if (is_elsewhere) {
    pthread_barrier_wait(&done);
    pthread_join(owner, NULL);
  } else {
    MPI_Finalize();
  }
  return 0;
}
