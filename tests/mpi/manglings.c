/* The names that Fortran compilers make of a routine: mpi_x, mpi_x_, mpi_x__ and MPI_X, each called once where
   the MPI library has them; 2 ranks. What it does is in manglings.json. Prints "OK manglings" on rank 0. (F5) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "manglings.c:%d: wrong result\n", __LINE__);    \
      MPI_Abort(MPI_COMM_WORLD, 1);                                   \
    }                                                                 \
  } while (0)

typedef MPI_Fint F;
#define ALL_NAMES(lower, UPPER, arguments) \
  void lower arguments;                    \
  void lower##_ arguments;                 \
  void lower##__ arguments;                \
  void UPPER arguments;
ALL_NAMES(mpi_allreduce, MPI_ALLREDUCE, (const void *, void *, F *, F *, F *, F *, F *))
ALL_NAMES(mpi_barrier, MPI_BARRIER, (F *, F *))
ALL_NAMES(mpi_sendrecv, MPI_SENDRECV, (const void *, F *, F *, F *, F *, void *, F *, F *, F *, F *, F *, F *, F *))
ALL_NAMES(mpi_comm_rank, MPI_COMM_RANK, (F *, F *, F *))
void mpi_init_(F *);
void MPI_FINALIZE(F *);

int main(void) {
  F error, world, type, sum, one = 1, me, tag = 3, out, in, status[64];
  void (*ranks[])(F *, F *, F *) = {mpi_comm_rank, mpi_comm_rank_, mpi_comm_rank__, MPI_COMM_RANK};
  void (*barriers[])(F *, F *) = {mpi_barrier, mpi_barrier_, mpi_barrier__, MPI_BARRIER};
  void (*reductions[])(const void *, void *, F *, F *, F *, F *, F *) = {mpi_allreduce, mpi_allreduce_, mpi_allreduce__,
                                                                         MPI_ALLREDUCE};
  void (*exchanges[])(const void *, F *, F *, F *, F *, void *, F *, F *, F *, F *, F *, F *, F *) = {
      mpi_sendrecv, mpi_sendrecv_, mpi_sendrecv__, MPI_SENDRECV};
  mpi_init_(&error);
  world = MPI_Comm_c2f(MPI_COMM_WORLD);
  type = MPI_Type_c2f(MPI_INT);
  sum = MPI_Op_c2f(MPI_SUM);
  for (int i = 0; i < 4; i++) {
    me = -1;
    ranks[i](&world, &me, &error);
    CHECK(me == 0 || me == 1);
    barriers[i](&world, &error);
    out = me + i;
    reductions[i](&out, &in, &one, &type, &sum, &world, &error); /* 4 bytes */
    CHECK(in == 1 + 2 * i);
    F other = 1 - me;
    exchanges[i](&out, &one, &type, &other, &tag, &in, &one, &type, &other, &tag, &world, status, &error); /* 4 and 4 */
    CHECK(in == other + i);
  }
  if (me == 0) puts("OK manglings");
  fflush(stdout);
  MPI_FINALIZE(&error);
  return 0;
}
