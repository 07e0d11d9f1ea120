/* The known program, C: every count and byte of it is in expected.json (2 ranks). The Fortran versions
   make the same calls in the same order. Prints "OK known" on rank 0 if all data arrived right. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) {                                             \
      fprintf(stderr, "known.c:%d: wrong result\n", __LINE__);      \
      MPI_Abort(MPI_COMM_WORLD, 1);                                 \
    }                                                               \
  } while (0)

static int rank, size, left, right;

static void send_and_receive(void) {
  int out[100], in[100];
  for (int i = 0; i < 10; i++) { /* 10 x 25 ints */
    for (int k = 0; k < 25; k++) out[k] = rank + i + k;
    if (rank % 2 == 0) MPI_Send(out, 25, MPI_INT, right, 7, MPI_COMM_WORLD);
    MPI_Recv(in, 25, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank % 2 == 1) MPI_Send(out, 25, MPI_INT, right, 7, MPI_COMM_WORLD);
    CHECK(in[24] == left + i + 24);
  }
  MPI_Status status; /* 3 ints arrive where 100 fit, from anywhere */
  int received;
  if (rank % 2 == 0) MPI_Send(out, 3, MPI_INT, right, 9, MPI_COMM_WORLD);
  MPI_Recv(in, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  if (rank % 2 == 1) MPI_Send(out, 3, MPI_INT, right, 9, MPI_COMM_WORLD);
  MPI_Get_count(&status, MPI_INT, &received);
  CHECK(received == 3 && status.MPI_SOURCE == left && status.MPI_TAG == 9);
}

static void nonblocking(void) {
  static double out[1000], in[1000];
  MPI_Request requests[4];
  for (int i = 0; i < 5; i++) { /* 5 x 1000 doubles, both at once */
    out[999] = rank + i;
    MPI_Irecv(in, 1000, MPI_DOUBLE, left, i, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 1000, MPI_DOUBLE, right, i, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in[999] == left + i);
  }
  for (int i = 0; i < 3; i++) { /* 3 x 1 byte, one after the other */
    MPI_Irecv(in, 1, MPI_BYTE, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 1, MPI_BYTE, right, i, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 2; i++) { /* 2 x 50 doubles, in the order of their coming */
    MPI_Irecv(in + 50 * i, 50, MPI_DOUBLE, left, 20 + i, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(out, 50, MPI_DOUBLE, right, 20 + i, MPI_COMM_WORLD, &requests[2 + i]);
  }
  for (int i = 0; i < 4; i++) {
    int index;
    MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
    CHECK(index >= 0 && index < 4);
  }
  for (int i = 0; i < 7; i++) { /* nothing to test */
    MPI_Request none = MPI_REQUEST_NULL;
    int flag = 0;
    MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
    CHECK(flag);
  }
}

static void sendrecv(void) {
  int out[10] = {rank}, in[10] = {-1};
  for (int i = 0; i < 4; i++)
    MPI_Sendrecv(out, 10, MPI_INT, right, 3, in, 10, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in[0] == left);
  for (int i = 0; i < 2; i++)
    MPI_Sendrecv(out, 10, MPI_INT, MPI_PROC_NULL, 3, in, 10, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void derived_types(void) {
  double out[60] = {0}, in[60];
  MPI_Datatype type;
  for (int round = 0; round < 2; round++) { /* 160 bytes of a vector, then 24 of two small pieces */
    int count = round == 0 ? 1 : 2;
    if (round == 0) MPI_Type_vector(10, 2, 5, MPI_DOUBLE, &type);
    else MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (rank % 2 == 0) MPI_Send(out, count, type, right, 4, MPI_COMM_WORLD);
    MPI_Recv(in, count, type, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank % 2 == 1) MPI_Send(out, count, type, right, 4, MPI_COMM_WORLD);
    MPI_Type_free(&type);
  }
}

static void collectives(void) {
  int ints[200] = {0}, more[200] = {0}, counts[2], offsets[2], receive_counts[2], receive_offsets[2];
  double x[10] = {1}, y[10] = {0};
  for (int i = 0; i < 3; i++) MPI_Barrier(MPI_COMM_WORLD);
  ints[99] = rank == 0 ? 42 : 0;
  MPI_Bcast(ints, 100, MPI_INT, 0, MPI_COMM_WORLD);
  CHECK(ints[99] == 42);
  MPI_Reduce(x, y, 10, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 5; i++) MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  CHECK(y[0] == size);
  MPI_Allreduce(MPI_IN_PLACE, y, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Gather(ints, 4, MPI_INT, more, 4, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, more, 4, MPI_INT, 1, MPI_COMM_WORLD);
  else MPI_Gather(ints, 4, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 1, MPI_COMM_WORLD);
  MPI_Allgather(ints, 4, MPI_INT, more, 4, MPI_INT, MPI_COMM_WORLD);
  if (rank == 0) MPI_Scatter(ints, 6, MPI_INT, more, 6, MPI_INT, 0, MPI_COMM_WORLD);
  else MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, more, 6, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Alltoall(ints, 3, MPI_INT, more, 3, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < 2; i++) { /* rank r sends r + i + 1 ints to rank i */
    counts[i] = receive_counts[i] = rank + i + 1;
    offsets[i] = receive_offsets[i] = 10 * i;
  }
  MPI_Alltoallv(ints, counts, offsets, MPI_INT, more, receive_counts, receive_offsets, MPI_INT, MPI_COMM_WORLD);
}

static void communicators(void) {
  MPI_Comm turned, copy, half, line;
  MPI_Group all, first;
  int number, buffer[5] = {rank}, zero = 0, length = size, periodic = 1;
  double x = 1, y;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned); /* ranks in reverse */
  MPI_Comm_rank(turned, &number);
  CHECK(number == size - 1 - rank);
  if (number == 0) MPI_Send(buffer, 5, MPI_INT, 1, 5, turned);
  if (number == 1) MPI_Recv(buffer, 5, MPI_INT, 0, 5, turned, MPI_STATUS_IGNORE);
  CHECK(number != 1 || buffer[0] == size - 1);
  MPI_Comm_dup(turned, &copy);
  MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, copy);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&turned);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 1 : MPI_UNDEFINED, 0, &half);
  CHECK((half == MPI_COMM_NULL) == (rank != 0));
  if (half != MPI_COMM_NULL) MPI_Comm_free(&half);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &zero, &first);
  MPI_Comm_create(MPI_COMM_WORLD, first, &half);
  if (half != MPI_COMM_NULL) {
    MPI_Bcast(buffer, 2, MPI_INT, 0, half);
    MPI_Comm_free(&half);
  }
  MPI_Group_free(&first);
  MPI_Group_free(&all);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &length, &periodic, 0, &line);
  MPI_Sendrecv(buffer, 2, MPI_INT, right, 6, buffer + 2, 2, MPI_INT, left, 6, line, MPI_STATUS_IGNORE);
  MPI_Comm_free(&line);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 2);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  send_and_receive();
  nonblocking();
  sendrecv();
  derived_types();
  collectives();
  communicators();
  if (rank == 0) puts("OK known");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
