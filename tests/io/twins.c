/* Calls each function's second name: the 64-bit twins of today's libc, and the stat family under the names that
   binaries from before glibc 2.33 ask for, by the version that those are linked to. Each on a file of its own name.
   Exits 1, naming the line, when one of them does not do what it must. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      dprintf(2, "%s:%d: %s is false, errno %d\n", __FILE__, __LINE__, #condition, errno); \
      _exit(1);                                                                            \
    }                                                                                      \
  } while (0)

#ifdef OLD_NAMES
#define OLD(name, version) __asm__(".symver " #name "," #name "@GLIBC_" version)
int __xstat(int, const char *, struct stat *);
int __lxstat(int, const char *, struct stat *);
int __fxstat(int, int, struct stat *);
int __fxstatat(int, int, const char *, struct stat *, int);
int __xstat64(int, const char *, struct stat64 *);
int __lxstat64(int, const char *, struct stat64 *);
int __fxstat64(int, int, struct stat64 *);
int __fxstatat64(int, int, const char *, struct stat64 *, int);
OLD(__xstat, "2.2.5");
OLD(__lxstat, "2.2.5");
OLD(__fxstat, "2.2.5");
OLD(__fxstatat, "2.4");
OLD(__xstat64, "2.2.5");
OLD(__lxstat64, "2.2.5");
OLD(__fxstat64, "2.2.5");
OLD(__fxstatat64, "2.4");

int main(void) {
  enum { kVersion = 1, kSize = 12345 };
  struct stat status;
  struct stat64 large;
  int fd = open("file", O_CREAT | O_RDWR, 0600);
  CHECK(fd == 3 && ftruncate(fd, kSize) == 0 && symlink("file", "link") == 0);
#define SIZE_IS(call, result, size)       \
  memset(&result, 0x55, sizeof result);   \
  CHECK((call) == 0 && result.st_size == (size))
  SIZE_IS(__xstat(kVersion, "link", &status), status, kSize);
  SIZE_IS(__xstat64(kVersion, "link", &large), large, kSize);
  SIZE_IS(__lxstat(kVersion, "link", &status), status, 4);
  SIZE_IS(__lxstat64(kVersion, "link", &large), large, 4);
  SIZE_IS(__fxstat(kVersion, fd, &status), status, kSize);
  SIZE_IS(__fxstat64(kVersion, fd, &large), large, kSize);
  SIZE_IS(__fxstatat(kVersion, AT_FDCWD, "link", &status, 0), status, kSize);
  SIZE_IS(__fxstatat64(kVersion, AT_FDCWD, "link", &large, AT_SYMLINK_NOFOLLOW), large, 4);
  CHECK(__xstat(99, "link", &status) == -1 && errno == EINVAL);
  CHECK(__xstat(kVersion, "missing", &status) == -1 && errno == ENOENT);
  /* The new ones in the same program. */
  SIZE_IS(stat("link", &status), status, kSize);
  SIZE_IS(lstat("link", &status), status, 4);
  SIZE_IS(fstat(fd, &status), status, kSize);
  SIZE_IS(fstatat(AT_FDCWD, "link", &status, 0), status, kSize);
  return 0;
}
#else
int main(void) {
  char text[64] = "abc";
  struct iovec part = {text, 3};
  struct stat64 status;
  int fd;
  CHECK((fd = open64("open64", O_CREAT | O_RDWR, 0640)) == 3 && write(fd, text, 3) == 3 && close(fd) == 0);
  CHECK((fd = openat64(AT_FDCWD, "openat64", O_CREAT | O_RDWR, 0604)) == 3 && write(fd, text, 3) == 3 && close(fd) == 0);
  CHECK((fd = creat64("creat64", 0600)) == 3 && write(fd, text, 3) == 3 && close(fd) == 0);
  CHECK(stat64("open64", &status) == 0 && (status.st_mode & 07777) == 0640 && status.st_size == 3);
  CHECK(lstat64("openat64", &status) == 0 && (status.st_mode & 07777) == 0604);
  CHECK(fstatat64(AT_FDCWD, "creat64", &status, 0) == 0 && (status.st_mode & 07777) == 0600);

  CHECK((fd = open64("at", O_CREAT | O_RDWR, 0600)) == 3);
  CHECK(pwrite64(fd, text, 3, 5LL << 30) == 3 && pread64(fd, text, 3, 5LL << 30) == 3);
  CHECK(pwritev64(fd, &part, 1, 6LL << 30) == 3 && preadv64(fd, &part, 1, 6LL << 30) == 3);
  CHECK(pwritev64v2(fd, &part, 1, 7LL << 30, 0) == 3 && preadv64v2(fd, &part, 1, 7LL << 30, 0) == 3);
  CHECK(lseek64(fd, 0, SEEK_END) == (7LL << 30) + 3 && fstat64(fd, &status) == 0 && status.st_size == (7LL << 30) + 3);
  CHECK(ftruncate64(fd, 0) == 0 && truncate64("at", 8192) == 0);
  CHECK(fallocate64(fd, 0, 0, 100) == 0 || errno == EOPNOTSUPP);
  CHECK(posix_fallocate64(fd, 0, 100) == 0);
  void *page = mmap64(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096);
  CHECK(page != MAP_FAILED && munmap(page, 4096) == 0);
  int copy = fcntl64(fd, F_DUPFD, 10);
  off64_t from = 0;
  CHECK(copy >= 10 && write(copy, text, 2) == 2 && close(copy) == 0);
  int to = open64("to", O_CREAT | O_WRONLY, 0600);
  CHECK(to == 4 && sendfile64(to, fd, &from, 2) == 2 && from == 2 && close(to) == 0 && close(fd) == 0);

  FILE *stream = fopen64("fopen64", "w+");
  fpos64_t place;
  CHECK(stream && fwrite(text, 1, 3, stream) == 3 && fseeko64(stream, 1, SEEK_SET) == 0 && ftello64(stream) == 1);
  CHECK(fgetpos64(stream, &place) == 0 && fsetpos64(stream, &place) == 0 && fread(text, 1, 2, stream) == 2);
  CHECK(!memcmp(text, "bc", 2) && (stream = freopen64("freopen64", "w", stream)) && fwrite(text, 1, 2, stream) == 2);
  CHECK(fclose(stream) == 0);
  stream = tmpfile64();
  CHECK(stream && fwrite(text, 1, 1, stream) == 1 && fclose(stream) == 0);
  char made[4][16] = {"madeXXXXXX", "madeXXXXXX", "madeXXXXXX.c", "madeXXXXXX.c"};
  int fds[4] = {mkstemp64(made[0]), mkostemp64(made[1], O_CLOEXEC), mkstemps64(made[2], 2), mkostemps64(made[3], 2, O_CLOEXEC)};
  for (int i = 0; i < 4; i++) CHECK(fds[i] == 3 + i && write(fds[i], text, 3) == 3 && unlink(made[i]) == 0);
  for (int i = 0; i < 4; i++) CHECK(close(fds[i]) == 0);
  DIR *directory = opendir(".");
  struct dirent64 *entry;
  int names = 0;
  while (directory && (entry = readdir64(directory))) names += entry->d_name[0] != 0;
  CHECK(names == 9 && closedir(directory) == 0);
  return 0;
}
#endif
