/* A process of MPI-4: a session instead of MPI_Init, large counts, MPI_Isendrecv, a persistent collective,
   partitioned messages; 2 ranks. What it does is in sessions.json. Prints "OK sessions" on rank 0. (G13) (G14) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      fprintf(stderr, "sessions.c:%d: wrong result\n", __LINE__);    \
      exit(1);                                                       \
    }                                                                \
  } while (0)

int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Request request, parts[2];
  int me, other, out[20], in[20];
  double x[2], y[2];
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "slurmscope.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &me);
  other = 1 - me;
  for (int i = 0; i < 20; i++) out[i] = me;
  MPI_Send_c(out, 7, MPI_INT, other, 1, comm); /* 28 bytes */
  MPI_Recv_c(in, 20, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
  CHECK(in[6] == other);
  /* As the message before: MPICH 4.0.2 does not fill the status of this request, it has an old one's values. */
  MPI_Isendrecv(out, 7, MPI_INT, other, 1, in, 20, MPI_INT, other, 1, comm, &request); /* 28 bytes */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  x[0] = x[1] = 1;
  MPI_Allreduce_init(x, y, 2, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &request);
  for (int i = 0; i < 3; i++) { /* 16 bytes */
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(y[1] == 2);
  }
  MPI_Request_free(&request);
  MPI_Psend_init(out, 4, 5, MPI_INT, other, 3, comm, MPI_INFO_NULL, &parts[0]);
  MPI_Precv_init(in, 4, 5, MPI_INT, other, 3, comm, MPI_INFO_NULL, &parts[1]);
  for (int i = 0; i < 2; i++) { /* 80 bytes in 4 partitions */
    in[19] = -1;
    MPI_Startall(2, parts);
    for (int k = 0; k < 4; k++) MPI_Pready(k, parts[0]);
    MPI_Waitall(2, parts, MPI_STATUSES_IGNORE);
    CHECK(in[19] == other);
  }
  MPI_Request_free(&parts[0]);
  MPI_Request_free(&parts[1]);
  MPI_Comm_free(&comm);
  MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  MPI_Comm_create_from_group(group, "slurmscope.alone", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Bcast_c(out, (MPI_Count)5 << 30, MPI_CHAR, 0, comm); /* 5 GiB, among one process */
  MPI_Comm_free(&comm);
  if (me == 0) puts("OK sessions");
  fflush(stdout);
  MPI_Session_finalize(&session);
  return 0;
}
