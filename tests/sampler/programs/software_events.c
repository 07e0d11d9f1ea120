// Counts with PAPI's software-defined events: work::ITEMS ends at 1234567, work::CALLBACK (a function's
// value) at 42. argv[1] "late" registers them after a while, "never" not at all. Does not call PAPI.
#include <sde_lib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static long long items;
static long long callback(void *argument) { return *(int *)argument; }

int main(int count, char **arguments) {
  static int answer = 0;
  const char *when = count > 1 ? arguments[1] : "early";
  if (strcmp(when, "late") == 0) {
    struct timespec pause = {0, 300000000};
    nanosleep(&pause, NULL);
  }
  if (strcmp(when, "never") != 0) {
    void *library = papi_sde_init("work");
    papi_sde_register_counter(library, "ITEMS", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &items);
    papi_sde_register_counter_cb(library, "CALLBACK", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, callback, &answer);
  }
  for (int i = 0; i < 1234567; i++) {
    items++;
    __asm__ volatile("" : : : "memory");
  }
  answer = 42;
  printf("items %lld\n", items);
  return 0;
}
