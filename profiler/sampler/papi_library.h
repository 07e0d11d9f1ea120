// PAPI's functions, taken from libpapi itself.
//
// Used by papi.cc only. Not linked: an application may have functions of the same names, and those come
// first in the search order of everything that is linked. libpapi is loaded only if counters are asked
// for, from a normal context, into a local scope.
#pragma once

#include <papi.h>

namespace slurmscope {

#define PAPI_FUNCTIONS(FUNCTION)                                                                      \
  FUNCTION(is_initialized) FUNCTION(library_init) FUNCTION(set_debug) FUNCTION(thread_init)           \
  FUNCTION(unregister_thread) FUNCTION(strerror) FUNCTION(num_components)                             \
  FUNCTION(get_component_info) FUNCTION(get_event_component) FUNCTION(event_name_to_code)             \
  FUNCTION(create_eventset) FUNCTION(cleanup_eventset) FUNCTION(destroy_eventset)                     \
  FUNCTION(add_named_event) FUNCTION(start) FUNCTION(stop) FUNCTION(read)

struct PapiLibrary {
#define FUNCTION(name) decltype(&::PAPI_##name) name;
  PAPI_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

extern PapiLibrary papi;

/// Fills `papi`. False: it cannot be loaded, or the application has functions of its own with PAPI's
/// names, which libpapi would call by mistake; `*reason` says which, and lives on.
bool load_papi(const char **reason);

}  // namespace slurmscope
