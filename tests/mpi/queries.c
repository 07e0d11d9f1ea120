/* Local queries that are counted with mpi_queries=1, between two calls that always are; 2 ranks. What it does is in
   queries.json. Prints "OK queries" on rank 0. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int me, size, number, version, minor, flag;
  MPI_Datatype pair;
  MPI_Group group;
  MPI_Initialized(&flag);
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 5; i++) MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 3; i++) MPI_Type_size(MPI_DOUBLE, &number);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_free(&pair);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group_size(group, &number);
  MPI_Group_free(&group);
  MPI_Get_version(&version, &minor);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0 && size == 2 && number == 2) puts("OK queries");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
