// I/O calls at full speed on one file in memory: argv[1] is its path. Prints "NAME NS" per line.
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rate_windows.h"

int main(int count, char **arguments) {
  if (count != 2) return 2;
  char block[512];
  struct stat facts;
  memset(block, 1, sizeof block);
  int file = open(arguments[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || pwrite(file, block, sizeof block, 1 << 20) < 0) return 1;
  ssize_t moved = 0;
  MEASURE("pwrite 512 B", 300, 1, moved += pwrite(file, block, sizeof block, (off_t)(round % 1024) * 512));
  MEASURE("pread 512 B", 300, 1, moved += pread(file, block, sizeof block, (off_t)(round % 1024) * 512));
  int sink = open("/dev/null", O_WRONLY);
  MEASURE("write 1 B", 2000, 1, moved += write(sink, block, 1));  // (E17)
  close(sink);
  MEASURE("open+close", 100, 2, close(open(arguments[1], O_RDONLY)));
  MEASURE("stat", 200, 1, moved += stat(arguments[1], &facts));
  close(file);
  unlink(arguments[1]);
  return moved > 0 ? 0 : 1;
}
