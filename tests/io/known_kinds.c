/* Parts of known_io, continued: text through streams, calls on two paths, directories, data that moves without a
   buffer, mappings, asynchronous requests. Compiled with -fno-builtin, so that printf stays printf. */
#define _GNU_SOURCE
#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "known_io.h"

static int list_print(FILE *stream, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int result = vfprintf(stream, format, list);
  va_end(list);
  return result;
}
static int list_scan(FILE *stream, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int result = vfscanf(stream, format, list);
  va_end(list);
  return result;
}

/* Counted at stdio, once each: what the streams hand on later is inside libc. (E2 E7) */
void text(void) {
  char *line = NULL, small[64];
  size_t room = 0, n = 20 + zero;
  fpos_t place;
  ssize_t (*volatile get)(char **, size_t *, FILE *) = getline; /* headers have it as an inline function too */
  FILE *stream = fopen("text", "w+");
  CHECK(stream && fprintf(stream, "%d %s\n", 1234, "abcd") == 10 && fputs("0123456789\n", stream) >= 0);
  CHECK(list_print(stream, "%05d\n", 7) == 6 && dprintf(fileno(stream), "%c", 'x') == 1 && fflush(stream) == 0);
  rewind(stream);
  CHECK(fgetpos(stream, &place) == 0);
  CHECK(fgets(small, n, stream) && strlen(small) == 11 && get(&line, &room, stream) == 11);
  CHECK(!strcmp(line, "0123456789\n") && fseek(stream, 2, SEEK_SET) == 0 && getdelim(&line, &room, '4', stream) == 3);
  CHECK(fseeko(stream, -3, SEEK_CUR) == 0 && ftell(stream) == 2 && fsetpos(stream, &place) == 0);
  CHECK(fgets(small, n, stream) && fgets(small, 5, stream) && !strcmp(small, "0123"));
  CHECK(fseek(stream, 0, SEEK_END) == 0 && fgets(small, n, stream) == NULL && !ferror(stream));
  CHECK(freopen("other", "w", stream) == stream && fputs("abc", stream) >= 0 && freopen("text", "r", stream) == stream);
  CHECK(fputs("abc", stream) < 0 && errno == EBADF && fclose(stream) == 0);
  free(line);
  int fd = open("other", O_RDWR);
  stream = fdopen(fd, "r+");
  CHECK(stream && fgets(small, n, stream) && !strcmp(small, "abc") && fclose(stream) == 0);
  CHECK(unlink("text") == 0 && unlink("other") == 0);
  CHECK(freopen("out", "w", stdout) && printf("%d\n", 55) == 3 && puts("hello") >= 0 && fflush(NULL) == 0);
  CHECK(freopen("/dev/null", "w", stdout) && unlink("out") == 0);
}

/* What scanning takes from a stream: its result is the number of items. (E2) */
void scanned(void) {
  FILE *stream = fopen("numbers", "w");
  int number = 0, other = 0;
  for (int i = 0; i < 10; i++) CHECK(fwrite(buffer, 1, 998, stream) == 998 && fwrite(" \n", 1, 2, stream) == 2);
  CHECK(fputs("17 18 +19\n", stream) >= 0 && fclose(stream) == 0);
  char *word = malloc(1000);
  CHECK((stream = fopen("numbers", "r")) != NULL);
  for (int i = 0; i < 10; i++) CHECK(fscanf(stream, "%999s ", word) == 1 && strlen(word) == 998);
  CHECK(list_scan(stream, "%d %d", &number, &other) == 2 && number == 17 && other == 18);
  CHECK(fscanf(stream, " x%d", &number) == 0 && fscanf(stream, "%d", &number) == 1 && number == 19);
  CHECK(fscanf(stream, "%d", &number) == EOF && fclose(stream) == 0 && unlink("numbers") == 0);
  CHECK(sscanf("5", "%d", &number) == 1 && number == 5);
  free(word);
}

void paths(void) {
  CHECK(mkdir("a", 0755) == 0);
  int dir = open("a", O_RDONLY | O_DIRECTORY);
  CHECK(dir == 3 && mkdirat(dir, "b", 0755) == 0);
  int fd = creat("one", 0600);
  CHECK(fd == 4 && fchmod(fd, 0640) == 0 && fallocate(fd, 0, 0, 100) == 0 && posix_fallocate(fd, 100, 50) == 0);
  CHECK(posix_fallocate(fd, 0, -1) == EINVAL && posix_fallocate64(99, 0, 1) == EBADF);
  CHECK(sync_file_range(fd, 10, 20, SYNC_FILE_RANGE_WRITE) == 0 && syncfs(fd) == 0 && close(fd) == 0);
  CHECK(chmod("one", 0600) == 0 && fchmodat(dir, "b", 0700, 0) == 0 && faccessat(dir, "b", R_OK, 0) == 0);
  CHECK(euidaccess("one", R_OK) == 0 && eaccess("one", R_OK) == 0);
  CHECK(link("one", "two") == 0 && linkat(AT_FDCWD, "one", dir, "three", 0) == 0);
  CHECK(symlink("one", "four") == 0 && symlinkat("text", dir, "five") == 0 && symlink("one", "four") == -1 && errno == EEXIST);
  CHECK(renameat(dir, "three", AT_FDCWD, "six") == 0 && renameat2(dir, "five", dir, "seven", RENAME_NOREPLACE) == 0);
  CHECK(unlinkat(dir, "seven", 0) == 0 && unlinkat(dir, "b", AT_REMOVEDIR) == 0 && close(dir) == 0 && rmdir("a") == 0);
  CHECK(unlink("one") == 0 && unlink("two") == 0 && unlink("four") == 0 && unlink("six") == 0);
}

/* A file without a name; its mode comes through. (E1) */
void unnamed(void) {
  struct stat status;
  int fd = open(".", O_TMPFILE | O_RDWR, 0604);
  if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) _exit(77);
  CHECK(fd == 3 && fstat(fd, &status) == 0 && (status.st_mode & 07777) == 0604);
  CHECK(write(fd, buffer, 50) == 50 && close(fd) == 0);
}

void directories(void) {
  CHECK(mkdir("list", 0755) == 0);
  close(creat("list/file", 0600));
  DIR *list = opendir("list");
  errno = 77; /* the end of a directory leaves errno alone */
  int seen = 0;
  while (readdir(list) != NULL) seen++;
  CHECK(seen == 3 && errno == 77);
  rewinddir(list);
  CHECK(readdir64(list) != NULL && closedir(list) == 0);
  CHECK(opendir("nowhere") == NULL && errno == ENOENT);
  list = opendir("/proc/self"); /* not part of a profile */
  CHECK(list && readdir(list) && closedir(list) == 0);
  CHECK(unlink("list/file") == 0 && rmdir("list") == 0);
}

/* (E8) */
void copies(void) {
  int from = open("from", O_CREAT | O_RDWR, 0600), to = open("to", O_CREAT | O_RDWR, 0600), ends[2];
  CHECK(from == 3 && to == 4 && write(from, buffer, 1000) == 1000 && lseek(from, 0, SEEK_SET) == 0);
  off_t place = 100;
  CHECK(sendfile(to, from, &place, 200) == 200 && place == 300 && sendfile64(to, from, NULL, 50) == 50);
  off64_t in = 0, out = 500;
  CHECK(copy_file_range(from, &in, to, &out, 300, 0) == 300 && in == 300 && out == 800);
  CHECK(pipe(ends) == 0 && splice(from, &in, ends[1], NULL, 40, 0) == 40 && splice(ends[0], NULL, to, &out, 40, 0) == 40);
  CHECK(in == 340 && out == 840 && close(ends[0]) == 0 && close(ends[1]) == 0);
  CHECK(sendfile(to, from, (off_t *)(uintptr_t)(8 + zero), 1) == -1 && errno == EFAULT); /* (E16) */
  CHECK(copy_file_range(from, NULL, 99, NULL, 1, 0) == -1 && errno == EBADF);
  CHECK(close(from) == 0 && close(to) == 0 && unlink("from") == 0 && unlink("to") == 0);
}

void mapped(void) {
  int fd = open("map", O_CREAT | O_RDWR, 0600);
  CHECK(fd == 3 && ftruncate(fd, 16384) == 0);
  char *pages = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(pages != MAP_FAILED && (pages[5000] = 'x') && msync(pages, 16384, MS_SYNC) == 0 && munmap(pages, 16384) == 0);
  pages = mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 4096);
  CHECK(pages != MAP_FAILED && pages[5000 - 4096] == 'x' && munmap(pages, 4096) == 0);
  CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 1) == MAP_FAILED && errno == EINVAL);
  CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF);
  pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* memory, not a file */
  CHECK(pages != MAP_FAILED && munmap(pages, 1 << 20) == 0);
  CHECK(close(fd) == 0 && unlink("map") == 0);
}

void requests(void) {
  int fd = open("data", O_CREAT | O_RDWR, 0600);
  struct aiocb put = {.aio_fildes = fd, .aio_buf = buffer, .aio_nbytes = 600, .aio_offset = 200};
  struct aiocb64 get = {.aio_fildes = fd, .aio_buf = buffer, .aio_nbytes = 500, .aio_offset = 700};
  const struct aiocb *const puts_only[] = {&put};
  const struct aiocb64 *const gets_only[] = {&get};
  CHECK(fd == 3 && aio_write(&put) == 0 && aio_suspend(puts_only, 1, NULL) == 0);
  CHECK(aio_error(&put) == 0 && aio_return(&put) == 600);
  CHECK(aio_fsync(O_SYNC, &put) == 0);
  while (aio_error(&put) == EINPROGRESS) usleep(1000);
  CHECK(aio_return(&put) == 0 && aio_fsync(12345, (struct aiocb *)(uintptr_t)zero) == -1 && errno == EINVAL);
  CHECK(aio_read64(&get) == 0 && aio_suspend64(gets_only, 1, NULL) == 0 && aio_return64(&get) == 100); /* up to the end */
  CHECK(close(fd) == 0 && unlink("data") == 0);
}
