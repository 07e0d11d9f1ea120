// Uses PAPI itself, with a software-defined event of its own so that it counts on any machine. Prints
// what every call returned: the same with and without the sampler.
#include <papi.h>
#include <sde_lib.h>
#include <stdio.h>

static long long items;

int main(void) {
  void *library = papi_sde_init("own");
  papi_sde_register_counter(library, "ITEMS", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &items);
  int was = PAPI_is_initialized();
  int version = PAPI_library_init(PAPI_VER_CURRENT), set = PAPI_NULL;
  int created = PAPI_create_eventset(&set);
  int cycles = PAPI_add_named_event(set, "PAPI_TOT_CYC"), own = PAPI_add_named_event(set, "sde:::own::ITEMS");
  int started = PAPI_start(set);
  for (int i = 0; i < 1000; i++) items++;
  long long values[2] = {-9, -9};
  int stopped = PAPI_stop(set, values);
  printf("was %d init %d components %d create %d cycles %d own %d start %d stop %d values %lld\n", was,
         version == PAPI_VER_CURRENT, PAPI_num_components(), created, cycles, own, started, stopped,
         cycles == PAPI_OK ? values[1] : values[0]);
  return 0;
}
