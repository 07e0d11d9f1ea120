// An MPI program that spends its time in hot_function() and, with HAVE_SDE, counts (rank + 1) million
// items as a software-defined event, registered after MPI_Init. Prints the sum of an Allreduce.
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#ifdef HAVE_SDE
#include <sde_lib.h>
#endif

static long long items;
static volatile double sink = 1;

__attribute__((noinline)) void hot_function(double seconds) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  double end = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec + seconds;
  do {
    for (int i = 0; i < 200000; i++) sink = sink * 1.0000001;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec < end);
}
__attribute__((noinline)) void calls_hot_function(double seconds) {
  hot_function(seconds);
  sink = sink + 1;
}

int main(int count, char **arguments) {
  int rank, one = 1, sum = 0;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#ifdef HAVE_SDE
  papi_sde_register_counter(papi_sde_init("counted"), "ITEMS", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &items);
#endif
  calls_hot_function(0.7);
  for (int i = 0; i < (rank + 1) * 1000000; i++) {
    items++;
    __asm__ volatile("" : : : "memory");
  }
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) printf("sum %d\n", sum);
  return 0;
}
