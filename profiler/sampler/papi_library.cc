// See papi_library.h. PAPI_SONAME, from configure, names the version that was built against.
#include "config.h"
#ifdef HAVE_PAPI
#include "profiler/sampler/papi_library.h"

#include <cstdio>
#include <dlfcn.h>

namespace slurmscope {

PapiLibrary papi;

namespace {

/// One function, unless another object defines it for the whole process.
bool find_function(void *library, const char *name, void **function, const char **reason) {
  *function = dlsym(library, name);
  if (*function == nullptr) {
    *reason = PAPI_SONAME " lacks a function that is needed";
    return false;
  }
  void *first = dlsym(RTLD_DEFAULT, name);
  if (first == nullptr || first == *function) return true;
  *reason = "the program has functions of its own with PAPI's names";
  return false;
}

}  // namespace

bool load_papi(const char **reason) {
  static char loader_error[256];
  void *library = dlopen(PAPI_SONAME, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    snprintf(loader_error, sizeof loader_error, "%s", dlerror());
    *reason = loader_error;
    return false;
  }
#define FUNCTION(name) && find_function(library, "PAPI_" #name, reinterpret_cast<void **>(&papi.name), reason)
  bool is_complete = true PAPI_FUNCTIONS(FUNCTION);
#undef FUNCTION
  if (!is_complete) papi = {};
  return is_complete;
}

}  // namespace slurmscope
#endif
