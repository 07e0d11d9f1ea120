/* A program without MPI that asks whether there is one: it must be told the truth, whatever is preloaded.
   usage: without; prints "OK without". Its library (-DLIBRARY) has a weak reference, as tools that work with and
   without MPI have. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int has_mpi(void);

#ifdef LIBRARY
extern int MPI_Initialized(int *) __attribute__((weak));
extern int MPI_Finalized(int *) __attribute__((weak));
int has_mpi(void) {
  int is_begun = 1, is_over = 1;
  if (MPI_Initialized == NULL) return 0;
  return MPI_Initialized(&is_begun) != 0 || MPI_Finalized(&is_over) != 0 || is_begun || is_over;
}
#else
static int asks(void *library, const char *name) { /* 0: there is none, and dlerror() says so */
  dlerror();
  return dlsym(library, name) != NULL || dlerror() == NULL;
}

int main(void) {
  int answers = asks(RTLD_DEFAULT, "MPI_Init") + asks(RTLD_DEFAULT, "PMPI_Send") + asks(dlopen(NULL, RTLD_LAZY), "MPI_Send");
  if (answers != 0 || has_mpi() != 0) return fprintf(stderr, "without: %d answers, has_mpi %d\n", answers, has_mpi());
  puts("OK without");
  return 0;
}
#endif
