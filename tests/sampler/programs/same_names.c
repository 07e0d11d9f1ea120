// Has functions of its own with names of PAPI and libunwind, visible to every library of the process.
// Prints how often somebody called them.
#include <stdio.h>

static int calls;
int PAPI_library_init(int version) { calls++; return version - version; }
int PAPI_start(int set) { calls++; return set - set - 1; }
int PAPI_is_initialized(void) { return calls++; }
int unw_backtrace(void **frames, int size) { calls++; return frames == NULL ? size : -1; }

int main(void) {
  printf("calls %d\n", calls);
  return 0;
}
