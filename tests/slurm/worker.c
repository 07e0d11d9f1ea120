/* What the tests of limits and trouble run: N small writes to /dev/null, "done RANK" on stdout, exit code 5.
 *   worker N            just that
 *   worker N rm DIR     first half; rank 0 waits until a trace is in DIR, then deletes DIR and all in it; second half
 *   worker N wait FILE  first half; waits until FILE exists; second half
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int sink;
static void write_some(int count) {
  for (int i = 0; i < count; i++)
    if (write(sink, "x", 1) != 1) exit(6);
}

/* Polls for two minutes at most: what is waited for is made by other processes. */
static void await(const char *pattern) {
  glob_t found;
  for (int tenths = 0; tenths < 1200; tenths++) {
    int result = glob(pattern, 0, NULL, &found);
    struct stat status;
    if (result == 0 && stat(found.gl_pathv[0], &status) == 0 && (status.st_size > 0 || !strstr(pattern, ".sst"))) return;
    usleep(100000);
  }
  exit(7);
}

int main(int count, char **words) {
  int calls = count > 1 ? atoi(words[1]) : 1000;
  const char *what = count > 3 ? words[2] : "", *where = count > 3 ? words[3] : "", *rank = getenv("SLURM_PROCID");
  int is_first = rank == NULL || strcmp(rank, "0") == 0;
  char text[4400];
  sink = open("/dev/null", O_WRONLY);
  write_some(calls / 2);
  if (strcmp(what, "wait") == 0) await(where);
  if (strcmp(what, "rm") == 0 && is_first) {
    snprintf(text, sizeof text, "%s/*.sst", where);
    await(text);
    snprintf(text, sizeof text, "rm -r '%s'", where);
    if (system(text) != 0) return 8;
  }
  write_some(calls / 2);
  printf("done %s\n", rank != NULL ? rank : "-");
  return 5;
}
