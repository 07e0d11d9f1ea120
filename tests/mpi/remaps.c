/* Messages from and into memory that is mapped, moved and given back all the time: a network stack that is not told keeps
   what was at the address before. Rank 0 and 1; prints "OK remaps" if every byte is right. (D7)
   Each rank maps the file "mapped.<rank>" 40 times; all else is anonymous memory. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kRounds = 40, kSize = 1 << 20 };
static int rank, file;

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "remaps: rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 70);
}

static void exchange(unsigned char *out, unsigned char *in, int round) {
  unsigned char mine = (unsigned char)(17 * rank + 3 * round + 1), other = (unsigned char)(17 * (1 - rank) + 3 * round + 1);
  memset(out, mine, kSize);
  memset(in, 0, kSize);
  MPI_Sendrecv(out, kSize, MPI_BYTE, 1 - rank, 1, in, kSize, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < kSize; i++) require(in[i] == other, "what was received is not what was sent");
}

static unsigned char *map(int flags, int fd) {
  unsigned char *memory = mmap(NULL, kSize, PROT_READ | PROT_WRITE, flags, fd, 0);
  require(memory != MAP_FAILED, "mmap");
  return memory;
}

int main(int argc, char **argv) {
  char name[40];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "mapped.%d", rank);
  file = open(name, O_RDWR | O_CREAT, 0600);
  require(file >= 0 && ftruncate(file, kSize) == 0, "a file");
  unsigned char *heap = malloc(kSize);
  for (int round = 0; round < kRounds; round++) {
    unsigned char *out = map(MAP_PRIVATE | MAP_ANONYMOUS, -1), *in = map(MAP_SHARED, file);
    exchange(out, in, round);
    exchange(in, out, round);
    out = mremap(out, kSize, 2 * kSize, MREMAP_MAYMOVE);
    require(out != MAP_FAILED, "mremap");
    require(madvise(out, kSize, MADV_DONTNEED) == 0, "madvise");
    heap = realloc(heap, (size_t)kSize * (1 + round % 3));
    exchange(out + kSize, heap, round);
    require(munmap(in, kSize) == 0 && munmap(out, 2 * kSize) == 0, "munmap");
    free(heap);
    heap = malloc(kSize);
  }
  free(heap);
  close(file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("OK remaps");
  MPI_Finalize();
  return 0;
}
