/* MPI reached in every way but the plain one, on 2 ranks: asked before MPI_Init, by the names of the profiling
   interface, through pointers, and by dlsym in each of its forms. What it does is in reached.json.
   usage: reached LIBRARY (the MPI library's file name); prints "OK reached" on rank 0. (A9) (A12) (A13) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) {                                             \
      fprintf(stderr, "reached.c:%d: wrong result\n", __LINE__);    \
      exit(1);                                                      \
    }                                                               \
  } while (0)

typedef int Exchange(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
typedef int Ask(int *);

static const struct { /* filled in by the dynamic linker */
  int (*barrier)(MPI_Comm);
  Exchange *exchange, *exchange_too;
} kTable = {MPI_Barrier, MPI_Sendrecv, PMPI_Sendrecv};

static int me, other;

static void exchange_by(Exchange *exchange, const char *how) { /* 4 bytes each way */
  int in = -1;
  if (exchange == NULL) fprintf(stderr, "reached: not found by %s\n", how);
  CHECK(exchange != NULL);
  exchange(&me, 1, MPI_INT, other, 1, &in, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == other);
}

/* dlsym's answer, which leaves nothing for dlerror() to say. */
static void *look_up(void *library, const char *name) {
  dlerror();
  void *found = dlsym(library, name);
  CHECK((found == NULL) == (dlerror() != NULL));
  return found;
}

int main(int argc, char **argv) {
  int flag = -1, version, minor, length, size;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  CHECK(argc == 2);
  void *library = dlopen(argv[1], RTLD_LAZY | RTLD_NOLOAD);
  CHECK(library != NULL);
  Ask *is_initialized = (Ask *)look_up(library, "MPI_Initialized");
  CHECK(is_initialized(&flag) == MPI_SUCCESS && !flag);
  CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && !flag);
  CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && !flag);
  CHECK(MPI_Get_version(&version, &minor) == MPI_SUCCESS && version >= 3);
  CHECK(MPI_Get_library_version(text, &length) == MPI_SUCCESS && length > 0);
  PMPI_Init(&argc, &argv);
  CHECK(is_initialized(&flag) == MPI_SUCCESS && flag);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 2);
  other = 1 - me;
  kTable.barrier(MPI_COMM_WORLD);
  PMPI_Barrier(MPI_COMM_WORLD);
  exchange_by(kTable.exchange, "a table");
  exchange_by(kTable.exchange_too, "a table of PMPI");
  exchange_by((Exchange *)look_up(RTLD_DEFAULT, "MPI_Sendrecv"), "RTLD_DEFAULT");
  exchange_by((Exchange *)look_up(RTLD_NEXT, "MPI_Sendrecv"), "RTLD_NEXT");
  exchange_by((Exchange *)look_up(library, "MPI_Sendrecv"), "the library's handle");
  exchange_by((Exchange *)look_up(library, "PMPI_Sendrecv"), "the library's handle, PMPI");
  void *program = dlopen(NULL, RTLD_LAZY);
  exchange_by((Exchange *)look_up(program, "MPI_Sendrecv"), "the program's handle");
  CHECK(look_up(library, "MPI_No_such_routine") == NULL);
  CHECK(look_up(RTLD_DEFAULT, "MPI_No_such_routine") == NULL);
  CHECK(look_up(library, "PMP") == NULL && look_up(library, "P") == NULL && look_up(library, "") == NULL);
  CHECK(look_up(RTLD_DEFAULT, "strlen") != NULL);
  dlclose(program);
  dlclose(library);
  if (me == 0) puts("OK reached");
  fflush(stdout);
  MPI_Finalize();
  CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag);
  CHECK(is_initialized(&flag) == MPI_SUCCESS && flag);
  CHECK(MPI_Get_version(&version, &minor) == MPI_SUCCESS && version >= 3);
  return 0;
}
