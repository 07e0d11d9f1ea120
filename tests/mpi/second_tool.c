/* Another tool of the profiling interface, to preload before or after ours: counts a few calls and writes them to
   $COUNTER.<pid> when its process ends. (A14) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int inits, sends, receives, reductions, finals;

int MPI_Init(int *argc, char ***argv) {
  inits++;
  return PMPI_Init(argc, argv);
}
int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  sends++;
  return PMPI_Send(buffer, count, type, to, tag, comm);
}
int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
  receives++;
  return PMPI_Recv(buffer, count, type, from, tag, comm, status);
}
int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm) {
  reductions++;
  return PMPI_Allreduce(in, out, count, type, operation, comm);
}
int MPI_Finalize(void) {
  finals++;
  return PMPI_Finalize();
}
__attribute__((destructor)) static void tell(void) {
  char path[4096];
  if (inits == 0 || getenv("COUNTER") == NULL) return;
  snprintf(path, sizeof(path), "%s.%d", getenv("COUNTER"), (int)getpid());
  FILE *file = fopen(path, "w");
  fprintf(file, "Init %d Send %d Recv %d Allreduce %d Finalize %d\n", inits, sends, receives, reductions, finals);
  fclose(file);
}
