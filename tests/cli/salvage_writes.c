/* usage: salvage_writes FIRST SECOND: writes FIRST times, says so, waits for a line, writes SECOND times. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void write_times(int file, long times) {
  for (long i = 0; i < times; i++)
    if (pwrite(file, "0123456789", 10, 0) != 10) exit(70);
}

int main(int argc, char **argv) {
  char line[100];
  int file = open("/dev/null", O_WRONLY);
  if (argc != 3 || file < 0) return 71;
  write_times(file, atol(argv[1]));
  if (puts("written") < 0 || fflush(stdout) != 0) return 72;
  if (fgets(line, sizeof line, stdin) == NULL) return 73;
  write_times(file, atol(argv[2]));
  return 0;
}
