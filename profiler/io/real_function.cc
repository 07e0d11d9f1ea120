// Look-up of the function behind a wrapper; see real_function.h.
#include "profiler/io/real_function.h"

#include <dlfcn.h>

namespace slurmscope {
namespace {

// Not in ThreadLocal: a look-up may come before the recorder exists.
__thread bool is_looking_up __attribute__((tls_model("initial-exec"))) = false;

// Functions that libc keeps only for old programs (__xstat) have no default version: dlsym() does not find
// them, and would allocate a message.
bool is_for_old_programs(const char *name) {
  return __builtin_strstr(name, "xstat") != nullptr && name[0] == '_';
}

}  // namespace

void *find_next_function(const char *name, bool *is_busy) {
  if (is_looking_up) {
    *is_busy = true;
    return nullptr;
  }
  int error = errno;
  is_looking_up = true;
  void *found = is_for_old_programs(name) ? dlvsym(RTLD_NEXT, name, kOldestLibcVersion) : dlsym(RTLD_NEXT, name);
  if (found == nullptr && is_for_old_programs(name)) found = dlsym(RTLD_NEXT, name);
  is_looking_up = false;
  errno = error;
  return found;
}

__attribute__((noinline, cold)) void *find_real_function(void **found, const char *name, void *fallback) {
  bool is_busy = false;
  void *next = find_next_function(name, &is_busy);
  if (is_busy) return fallback;
  if (next == nullptr) next = fallback;
  __atomic_store_n(found, next, __ATOMIC_RELAXED);
  return next;
}

}  // namespace slurmscope
