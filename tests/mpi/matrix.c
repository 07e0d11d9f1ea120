/* Every way to name a peer, on 3 ranks: split in reverse, Cartesian with reordering, intercommunicator and
   its merger, recycled handles, persistent requests, matched probes, windows, a paused region. Partners are
   chosen by world rank, so that the matrix does not depend on how an MPI orders a Cartesian grid. What it
   does is in matrix.json. usage: matrix FILE; prints "OK matrix" on rank 0 if all data arrived right. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      fprintf(stderr, "matrix.c:%d: wrong result\n", __LINE__);      \
      MPI_Abort(MPI_COMM_WORLD, 1);                                  \
    }                                                                \
  } while (0)

static int me;
static MPI_Comm turned; /* the world in reverse */

/* The rank in `comm` of a process of the world. */
static int rank_in(MPI_Comm comm, int world_rank) {
  MPI_Group world, group;
  int rank;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm_group(comm, &group);
  MPI_Group_translate_ranks(world, 1, &world_rank, group, &rank);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return rank;
}

static void reverse_split(void) {
  int out[5] = {me}, in[5];
  MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &turned);
  if (me == 2) MPI_Send(out, 5, MPI_INT, 2, 1, turned); /* 2 -> 0: 20 bytes */
  if (me == 0) MPI_Recv(in, 5, MPI_INT, MPI_ANY_SOURCE, 1, turned, MPI_STATUS_IGNORE);
  CHECK(me != 0 || in[0] == 2);
  if (me == 1) MPI_Send(out, 3, MPI_INT, 0, 1, turned); /* 1 -> 2: 12 bytes */
  if (me == 2) MPI_Recv(in, 5, MPI_INT, 1, 1, turned, MPI_STATUS_IGNORE);
  CHECK(me != 2 || in[0] == 1);
}

static void cartesian(void) {
  int size = 3, periodic = 1, out[6] = {me}, in[6];
  MPI_Comm grid;
  MPI_Cart_create(turned, 1, &size, &periodic, 1, &grid);
  MPI_Sendrecv(out, 6, MPI_INT, rank_in(grid, (me + 1) % 3), 2, in, 6, MPI_INT, rank_in(grid, (me + 2) % 3), 2, grid,
               MPI_STATUS_IGNORE); /* each to the next: 24 bytes */
  CHECK(in[0] == (me + 2) % 3);
  MPI_Neighbor_alltoall(out, 3, MPI_INT, in, 3, MPI_INT, grid); /* 2 neighbors, 24 bytes */
  MPI_Comm_free(&grid);
}

static void intercommunicator(void) {
  MPI_Comm side, both, merged;
  double x[7] = {me}, y[7];
  MPI_Comm_split(MPI_COMM_WORLD, me == 1, -me, &side); /* {2, 0} and {1} */
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, me == 1 ? 2 : 1, 9, &both);
  if (me == 1) {
    MPI_Send(x, 7, MPI_DOUBLE, 0, 3, both); /* 1 -> 2: 56 bytes */
    MPI_Send(x, 2, MPI_DOUBLE, 1, 3, both); /* 1 -> 0: 16 bytes */
    MPI_Recv(y, 11, MPI_BYTE, 1, 3, both, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(y, 7, MPI_DOUBLE, 0, 3, both, MPI_STATUS_IGNORE);
    CHECK(y[0] == 1);
    if (me == 0) MPI_Send(x, 11, MPI_BYTE, 0, 3, both); /* 0 -> 1: 11 bytes */
  }
  MPI_Intercomm_merge(both, me == 1, &merged);
  MPI_Sendrecv(x, 1, MPI_DOUBLE, rank_in(merged, (me + 2) % 3), 4, y, 1, MPI_DOUBLE, rank_in(merged, (me + 1) % 3), 4,
               merged, MPI_STATUS_IGNORE); /* each to the one before: 8 bytes */
  CHECK(y[0] == (me + 1) % 3);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&both);
  MPI_Comm_free(&side);
}

static void recycled_handles(void) {
  for (int i = 0; i < 100; i++) { /* in turns 2 -> 1 and 0 -> 1, 50 times 4 bytes each */
    MPI_Comm comm;
    int value = me, rank;
    MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? me : -me, &comm);
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, i, comm);
    if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, i, comm, MPI_STATUS_IGNORE);
    CHECK(me != 1 || value == (i % 2 ? 0 : 2));
    MPI_Comm_free(&comm);
  }
}

static void persistent(void) {
  int out[100] = {me}, in[100];
  MPI_Request requests[2];
  MPI_Recv_init(in, 100, MPI_INT, (me + 2) % 3, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out, 100, MPI_INT, (me + 1) % 3, 5, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 4; i++) { /* each to the next: 400 bytes, 3 times by Startall and once by Start */
    if (i < 3) {
      MPI_Startall(2, requests);
    } else {
      MPI_Start(&requests[0]);
      MPI_Start(&requests[1]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in[0] == (me + 2) % 3);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void matched(void) {
  char text[20] = "message";
  MPI_Message message;
  MPI_Request request;
  MPI_Status status;
  int flag;
  if (me == 0) { /* 0 -> 2: 9 and 13 bytes */
    MPI_Send(text, 9, MPI_CHAR, 0, 6, turned);
    MPI_Send(text, 13, MPI_CHAR, 0, 6, turned);
  }
  if (me == 2) {
    MPI_Mprobe(MPI_ANY_SOURCE, 6, turned, &message, &status);
    MPI_Mrecv(text, 20, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    MPI_Mprobe(2, MPI_ANY_TAG, turned, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(text, 20, MPI_CHAR, &message, &request);
    MPI_Wait(&request, &status);
    CHECK(status.MPI_SOURCE == 2 && status.MPI_TAG == 6 && message == MPI_MESSAGE_NULL);
  }
  MPI_Improbe(MPI_PROC_NULL, 6, turned, &flag, &message, &status); /* there at once, and nothing */
  CHECK(flag && message == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(text, 20, MPI_CHAR, &message, &status);
}

static void nothing_moves(void) {
  int value = 7;
  MPI_Request request;
  MPI_Status status;
  int cancelled;
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD);
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  CHECK(cancelled);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Send(&value, 1, MPI_INT, 99, 7, MPI_COMM_WORLD) != MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void one_sided(void) {
  int *base, out[10] = {me};
  double got[2];
  long one = 1, before;
  MPI_Win window;
  MPI_Request request;
  MPI_Win_allocate(1024, 1, MPI_INFO_NULL, turned, &base, &window);
  memset(base, 0, 1024);
  MPI_Win_fence(0, window);
  if (me == 2) MPI_Put(out, 10, MPI_INT, 1, 64, 10, MPI_INT, window); /* 40 bytes to 1 */
  MPI_Get(got, 2, MPI_DOUBLE, 0, 512, 2, MPI_DOUBLE, window);         /* 16 bytes from 2 */
  MPI_Put(out, 10, MPI_INT, MPI_PROC_NULL, 0, 10, MPI_INT, window);   /* nothing */
  MPI_Win_fence(0, window);
  CHECK(me != 1 || base[16] == 2);
  MPI_Win_lock_all(0, window);
  MPI_Fetch_and_op(&one, &before, MPI_LONG, 2, 256, MPI_SUM, window); /* 8 bytes to 0 */
  MPI_Win_flush(2, window);
  MPI_Rput("hello", 5, MPI_CHAR, 1, 300 + 8 * me, 5, MPI_CHAR, window, &request); /* 5 bytes to 1 */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

static void file(const char *name) {
  char out[100], in[100];
  MPI_File file;
  MPI_Request request;
  memset(out, 'a' + me, sizeof(out));
  CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  MPI_File_write_at_all(file, 100 * me, out, 100, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_File_read_at(file, 250, in, 80, MPI_CHAR, MPI_STATUS_IGNORE); /* 50 are left */
  CHECK(in[49] == 'c');
  MPI_File_iread_at(file, 100 * ((me + 1) % 3), in, 20, MPI_CHAR, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in[19] == 'a' + (me + 1) % 3);
  MPI_File_close(&file);
}

static void paused(void) {
  char text[5] = "1234";
  MPI_Pcontrol(0);
  if (me == 1) MPI_Send(text, 5, MPI_CHAR, 2, 8, MPI_COMM_WORLD);
  if (me == 2) MPI_Recv(text, 5, MPI_CHAR, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_free(&turned);
  MPI_Comm_split(MPI_COMM_WORLD, 0, me, &turned); /* not reversed, perhaps with the same handle */
  MPI_Pcontrol(1);
  MPI_Pcontrol(2, "anything", 3.5);
  if (me == 0) MPI_Send(text, 5, MPI_CHAR, 2, 8, turned); /* 0 -> 2: 5 bytes */
  if (me == 2) MPI_Recv(text, 5, MPI_CHAR, 0, 8, turned, MPI_STATUS_IGNORE);
  MPI_Comm_free(&turned);
}

int main(int argc, char **argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 3 && argc == 2);
  reverse_split();
  cartesian();
  intercommunicator();
  recycled_handles();
  persistent();
  matched();
  nothing_moves();
  one_sided();
  file(argv[1]);
  paused();
  if (me == 0) puts("OK matrix");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
