/* One process that starts two more: three ranks, two worlds. Both say in spawned.json what they do.
   Prints "OK spawned" in the first world. (G8) (G17) */
#include <mpi.h>
#include <stdio.h>

#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) {                                             \
      fprintf(stderr, "spawned.c:%d: wrong result\n", __LINE__);    \
      MPI_Abort(MPI_COMM_WORLD, 1);                                 \
    }                                                               \
  } while (0)

static void act_as_parent(const char *program) {
  MPI_Comm children, all;
  int number, size;
  MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
  for (int i = 0; i < 2; i++) { /* to and from a child: 4 and 8 bytes */
    double answer;
    number = 40 + i;
    MPI_Send(&number, 1, MPI_INT, i, 1, children);
    MPI_Recv(&answer, 1, MPI_DOUBLE, i, 2, children, MPI_STATUS_IGNORE);
    CHECK(answer == 80 + 2 * i);
  }
  MPI_Intercomm_merge(children, 0, &all);
  MPI_Comm_size(all, &size);
  CHECK(size == 3);
  MPI_Bcast(&number, 1, MPI_INT, 0, all);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&children);
  puts("OK spawned");
}

static void act_as_child(MPI_Comm parent) {
  MPI_Comm all;
  int number, rank;
  double answer;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Recv(&number, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
  CHECK(number == 40 + rank);
  answer = 2 * number;
  MPI_Send(&answer, 1, MPI_DOUBLE, 0, 2, parent);
  MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 3, &number, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(number == 1 - rank); /* among the children: 4 bytes each way */
  MPI_Intercomm_merge(parent, 1, &all);
  MPI_Bcast(&number, 1, MPI_INT, 0, all);
  CHECK(number == 41);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&parent);
}

int main(int argc, char **argv) {
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) act_as_parent(argv[0]);
  else act_as_child(parent);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
