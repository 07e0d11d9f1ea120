/* An independent count of MPI calls, to compare a report with: a second tool behind the profiler in LD_PRELOAD.
 *
 * Counts each call of the names below under MPI_X and PMPI_X, as C and Fortran use them, and goes on to the same name
 * behind itself. When a process calls MPI_Finalize, its counts go to $COUNTER_FOLDER/<pid>, a line "NAME COUNT" each.
 * No mpi.h: arguments stay where they are, for any MPI. x86-64. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CALLS(CALL)                                                                                                   \
  CALL(Init) CALL(Init_thread) CALL(Finalize) CALL(Send) CALL(Recv) CALL(Isend) CALL(Irecv) CALL(Ssend) CALL(Bsend)   \
  CALL(Rsend) CALL(Issend) CALL(Sendrecv) CALL(Sendrecv_replace) CALL(Wait) CALL(Waitall) CALL(Waitany)               \
  CALL(Waitsome) CALL(Test) CALL(Testall) CALL(Testany) CALL(Testsome) CALL(Probe) CALL(Iprobe) CALL(Mprobe)          \
  CALL(Mrecv) CALL(Barrier) CALL(Bcast) CALL(Reduce) CALL(Allreduce) CALL(Gather) CALL(Gatherv) CALL(Scatter)         \
  CALL(Scatterv) CALL(Allgather) CALL(Allgatherv) CALL(Alltoall) CALL(Alltoallv) CALL(Alltoallw)                      \
  CALL(Reduce_scatter) CALL(Scan) CALL(Ibcast) CALL(Iallreduce) CALL(Comm_dup) CALL(Comm_split) CALL(Comm_create)     \
  CALL(Comm_free) CALL(Cart_create) CALL(Cart_sub) CALL(Put) CALL(Get) CALL(Accumulate) CALL(Win_fence)               \
  CALL(File_open) CALL(File_close) CALL(File_write_at_all) CALL(File_read_at_all)

#define ID(name) k##name,
enum { CALLS(ID) kCalls };
#define NAME(name) "MPI_" #name,
static const char *const kNames[] = {CALLS(NAME)};
static long counts[kCalls];

static void write_counts(void) {
  const char *folder = getenv("COUNTER_FOLDER");
  char path[500];
  if (folder == NULL) return;
  snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
  FILE *file = fopen(path, "w");
  if (file == NULL) return;
  for (int i = 0; i < kCalls; i++)
    if (counts[i] != 0) fprintf(file, "%s %ld\n", kNames[i], counts[i]);
  fclose(file);
}

__attribute__((used, visibility("hidden"))) void *counter_enter(int id, const char *name) {
  __atomic_fetch_add(&counts[id], 1, __ATOMIC_RELAXED);
  if (id == kFinalize) write_counts();
  return dlsym(RTLD_NEXT, name);
}

/* Goes on to the real function with registers and stack as the caller made them, so it returns to the caller. */
#define WRAPPER(full, id)                                                                                             \
  __attribute__((naked)) void full(void) {                                                                            \
    __asm__("push %%rdi; push %%rsi; push %%rdx; push %%rcx; push %%r8; push %%r9; push %%rax\n\t"                     \
            "mov %0, %%edi; lea %c1(%%rip), %%rsi; call counter_enter; mov %%rax, %%r11\n\t"                          \
            "pop %%rax; pop %%r9; pop %%r8; pop %%rcx; pop %%rdx; pop %%rsi; pop %%rdi\n\t"                           \
            "jmp *%%r11" ::"i"(id), "i"(name_of_##full));                                                             \
  }
#define WRAPPERS(name)                                                                                                \
  static const char name_of_MPI_##name[] = "MPI_" #name, name_of_PMPI_##name[] = "PMPI_" #name;                       \
  WRAPPER(MPI_##name, k##name) WRAPPER(PMPI_##name, k##name)
CALLS(WRAPPERS)
