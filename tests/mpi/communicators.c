/* Groups of all kinds on 3 ranks: roots of intercommunicators, arguments that mean nothing on some ranks, sizes of
   derived types, more than 2^32 bytes, graphs and their neighborhoods, a handle that means 20 000 communicators in
   turn. What it does is in communicators.json. Prints "OK communicators" on rank 0.
   (G7) (G8) (G10) (G11) (G12) (G13) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      fprintf(stderr, "communicators.c:%d: wrong result\n", __LINE__);    \
      MPI_Abort(MPI_COMM_WORLD, 1);                                       \
    }                                                                     \
  } while (0)

static int me, next, last;

static void intercommunicator(void) {
  MPI_Comm side, both;
  int numbers[3] = {me, me, me};
  MPI_Comm_split(MPI_COMM_WORLD, me == 1, me, &side); /* {0, 2} and {1} */
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, me == 1 ? 0 : 1, 11, &both);
  /* From world rank 0 to the other side: 12 bytes there and here, nothing for rank 2, who only looks on. */
  MPI_Bcast(numbers, 3, MPI_INT, me == 1 ? 0 : me == 0 ? MPI_ROOT : MPI_PROC_NULL, both);
  CHECK(numbers[2] == (me == 1 ? 0 : me));
  if (me == 0) MPI_Send(numbers, 2, MPI_INT, 0, 1, both); /* 0 -> 1: 8 bytes */
  if (me == 1) MPI_Recv(numbers, 2, MPI_INT, 0, 1, both, MPI_STATUS_IGNORE);
  MPI_Barrier(both);
  MPI_Comm_free(&both);
  MPI_Comm_free(&side);
}

static void insignificant(void) {
  int number = me, numbers[3] = {0}, counts[3] = {1, 1, 1}, offsets[3] = {0, 1, 2};
  MPI_Datatype junk = MPI_DATATYPE_NULL;
  if (me == 1) {
    MPI_Gather(&number, 1, MPI_INT, numbers, 1, MPI_INT, 1, MPI_COMM_WORLD);
    CHECK(numbers[2] == 2);
    MPI_Gatherv(&number, 1, MPI_INT, numbers, counts, offsets, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Scatter(numbers, 1, MPI_INT, MPI_IN_PLACE, -7, junk, 1, MPI_COMM_WORLD); /* 3 x 4 bytes */
    MPI_Scatterv(numbers, counts, offsets, MPI_INT, &number, 1, MPI_INT, 1, MPI_COMM_WORLD);
  } else {
    MPI_Gather(&number, 1, MPI_INT, NULL, -7, junk, 1, MPI_COMM_WORLD);
    MPI_Gatherv(&number, 1, MPI_INT, NULL, NULL, NULL, junk, 1, MPI_COMM_WORLD);
    MPI_Scatter(NULL, -7, junk, &number, 1, MPI_INT, 1, MPI_COMM_WORLD);
    CHECK(number == me);
    MPI_Scatterv(NULL, NULL, NULL, junk, &number, 1, MPI_INT, 1, MPI_COMM_WORLD);
  }
}

static void types(void) {
  MPI_Datatype spread, padded, nothing;
  double *out = calloc(1000, sizeof(*out)), in[10];
  char *wide = calloc(5, 4096);
  MPI_Type_vector(10, 1, 100, MPI_DOUBLE, &spread);
  MPI_Type_create_resized(MPI_INT, 0, 4096, &padded);
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&spread);
  MPI_Type_commit(&padded);
  MPI_Type_commit(&nothing);
  for (int i = 0; i < 10; i++) out[100 * i] = me + i;
  MPI_Sendrecv(out, 1, spread, next, 2, in, 10, MPI_DOUBLE, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* 80, 80 */
  CHECK(in[9] == last + 9);
  MPI_Sendrecv(in, 5, MPI_INT, next, 3, wide, 5, padded, last, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* 20, 20 */
  MPI_Sendrecv(out, 9, nothing, next, 4, in, 0, MPI_INT, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&spread);
  MPI_Type_free(&padded);
  MPI_Type_free(&nothing);
  free(wide);
  free(out);
}

static void huge(void) {
  MPI_Datatype giga, giant;
  char little[8];
  int size;
  MPI_Type_contiguous(1 << 30, MPI_CHAR, &giga);
  MPI_Type_contiguous(5, giga, &giant);
  MPI_Type_commit(&giant);
  MPI_Type_size(giant, &size);
  CHECK(size == MPI_UNDEFINED);
  MPI_Send(little, 1, giant, MPI_PROC_NULL, 5, MPI_COMM_WORLD); /* goes nowhere */
  MPI_Bcast(little, 3, giant, 0, MPI_COMM_SELF);                /* 15 GiB, among one process */
  MPI_Type_free(&giant);
  MPI_Type_free(&giga);
}

static void graphs(void) {
  /* Everyone sends to the two others, first to the next: counts and types differ. */
  int sources[2] = {last, next}, targets[2] = {next, last}, out[4] = {me, me, me, me}, in[5];
  int send_counts[2] = {1, 3}, receive_counts[2] = {1, 3}, offsets[2] = {0, 1}, two[2] = {2, 2}, places[2] = {0, 2};
  double reals_in[2];
  char mixed[32] = {0};
  int wcounts[2] = {2, 1};
  MPI_Aint displacements[2] = {0, 8};
  MPI_Datatype kinds[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Comm graph, old;
  MPI_Request request;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph);
  MPI_Neighbor_allgatherv(out, 2, MPI_INT, in, two, places, MPI_INT, graph); /* 8 bytes */
  CHECK(in[1] == last && in[2] == next);
  MPI_Neighbor_alltoallv(out, send_counts, offsets, MPI_INT, in, receive_counts, offsets, MPI_INT, graph); /* 4 and 12 */
  CHECK(in[0] == last && in[3] == next);
  MPI_Neighbor_alltoallw(mixed, wcounts, displacements, kinds, reals_in, wcounts, displacements, kinds, graph); /* 8 and 8 */
  MPI_Ineighbor_alltoall(out, 2, MPI_INT, in, 2, MPI_INT, graph, &request); /* 2 x 8 bytes */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in[1] == last && in[3] == next);
  MPI_Comm_free(&graph);
  int index[3] = {1, 2, 2}, edges[2] = {1, 0}; /* rank 0 and 1 know each other, rank 2 is alone */
  MPI_Graph_create(MPI_COMM_WORLD, 3, index, edges, 0, &old);
  MPI_Neighbor_alltoall(out, 3, MPI_INT, in, 3, MPI_INT, old); /* 12 bytes, of rank 2 nothing */
  CHECK(me == 2 || in[2] == 1 - me);
  MPI_Comm_free(&old);
}

static long resident_kib(void) {
  char line[200];
  long size = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof(line), status) != NULL) sscanf(line, "VmRSS: %ld", &size);
  if (status != NULL) fclose(status);
  return size;
}

static void recycled(void) {
  long before = 0;
  for (int i = 0; i < 20000; i++) {
    MPI_Comm copy;
    int in;
    if (i == 1000) before = resident_kib(); /* the ring is there by now */
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    if (i % 500 == 0) { /* 40 times 4 bytes to this rank itself */
      MPI_Sendrecv(&i, 1, MPI_INT, 0, 6, &in, 1, MPI_INT, 0, 6, copy, MPI_STATUS_IGNORE);
      CHECK(in == i);
    }
    MPI_Comm_free(&copy);
  }
  /* A ring of events (4 MiB) and one of definitions fill up: beyond that nothing grows. */
  long grown = resident_kib() - before;
  if (grown > 16 * 1024) fprintf(stderr, "communicators: %ld KiB more after 19000 dup and free\n", grown);
  CHECK(grown <= 16 * 1024);
}

int main(int argc, char **argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 3);
  next = (me + 1) % 3;
  last = (me + 2) % 3;
  intercommunicator();
  insignificant();
  types();
  huge();
  graphs();
  recycled();
  if (me == 0) puts("OK communicators");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
