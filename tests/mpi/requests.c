/* Requests at their edges, on 2 ranks: inactive, null, none at all, empty messages, freed while active, asked about
   and not freed, of several kinds in one call, and 100 000 in one Waitall in a thread with a small stack.
   What it does is in requests.json. Prints "OK requests" on rank 0. (G1) (G4) (G5) (G21) (G23) */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      fprintf(stderr, "requests.c:%d: wrong result\n", __LINE__);    \
      MPI_Abort(MPI_COMM_WORLD, 1);                                  \
    }                                                                \
  } while (0)

enum { kMany = 50000 };
static int me, other;

static void inactive(void) {
  int number = 0;
  MPI_Request requests[2];
  MPI_Status status;
  MPI_Recv_init(&number, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&number, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Wait(&requests[0], &status); /* never started: over at once, from nobody */
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
}

static void none(void) {
  MPI_Request nulls[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int flag = 0, index = 0, count = 0, indices[3];
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
  MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
  CHECK(flag);
  MPI_Waitall(3, nulls, MPI_STATUSES_IGNORE);
  MPI_Waitany(3, nulls, &index, MPI_STATUS_IGNORE);
  CHECK(index == MPI_UNDEFINED);
  MPI_Testany(3, nulls, &index, &flag, MPI_STATUS_IGNORE);
  CHECK(flag && index == MPI_UNDEFINED);
  MPI_Waitsome(3, nulls, &count, indices, MPI_STATUSES_IGNORE);
  CHECK(count == MPI_UNDEFINED);
  MPI_Testsome(3, nulls, &count, indices, MPI_STATUSES_IGNORE);
  CHECK(count == MPI_UNDEFINED);
  MPI_Wait(&nulls[0], MPI_STATUS_IGNORE);
}

static void empty(void) {
  MPI_Request requests[2];
  MPI_Irecv(NULL, 0, MPI_INT, other, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(NULL, 0, MPI_INT, other, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void forgotten(void) {
  static int out, in; /* 4 bytes each way */
  MPI_Request request;
  out = me;
  MPI_Isend(&out, 1, MPI_INT, other, 3, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Recv(&in, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == other);
}

static void asked(void) {
  MPI_Request request;
  int flag = 0, number;
  MPI_Irecv(&number, 1, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &request); /* there at once, and nothing */
  MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  CHECK(flag && request != MPI_REQUEST_NULL);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void mixed(void) {
  int one = 1, sum = 0, out[3] = {me}, in[3];
  MPI_Request requests[5] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[4]); /* 4 bytes */
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
  MPI_Irecv(in, 3, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &requests[0]); /* 12 bytes each way */
  MPI_Isend(out, 3, MPI_INT, other, 5, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
  CHECK(sum == 2 && in[0] == other);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &requests[0]); /* maybe both with one handle */
  MPI_Ibarrier(MPI_COMM_SELF, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(sum == 1);
}

static void failing(void) {
  int number = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Bsend(&number, 1, MPI_INT, 77, 6, MPI_COMM_WORLD) != MPI_SUCCESS);
  CHECK(MPI_Bcast(&number, 1, MPI_INT, -9, MPI_COMM_WORLD) != MPI_SUCCESS);
  CHECK(MPI_Recv(&number, -1, MPI_INT, other, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static int *numbers;
static MPI_Request *requests;
static void *wait_for_all(void *nothing) { /* two times: of 100 000 requests, and of as many that are null */
  MPI_Waitall(2 * kMany, requests, MPI_STATUSES_IGNORE);
  MPI_Waitall(2 * kMany, requests, MPI_STATUSES_IGNORE);
  return nothing;
}
static void many(void) {
  pthread_t thread;
  pthread_attr_t small;
  numbers = calloc(2 * kMany, sizeof(*numbers));
  requests = calloc(2 * kMany, sizeof(*requests));
  for (int i = 0; i < kMany; i++) MPI_Irecv(&numbers[i], 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[i]);
  for (int i = 0; i < kMany; i++) {
    numbers[kMany + i] = i + me;
    MPI_Isend(&numbers[kMany + i], 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[kMany + i]);
  }
  pthread_attr_init(&small);
  CHECK(pthread_attr_setstacksize(&small, 65536) == 0);
  CHECK(pthread_create(&thread, &small, wait_for_all, NULL) == 0);
  pthread_join(thread, NULL);
  for (int i = 0; i < kMany; i++) CHECK(numbers[i] == i + me);
}

int main(int argc, char **argv) {
  int level, size;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 2 && level >= MPI_THREAD_SERIALIZED);
  other = 1 - me;
  inactive();
  none();
  empty();
  forgotten();
  asked();
  mixed();
  failing();
  many();
  if (me == 0) puts("OK requests");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
