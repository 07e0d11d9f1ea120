// See runtime_threads.h.
#include "profiler/preload/runtime_threads.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>

#include "profiler/preload/raw_syscall.h"
#include "profiler/preload/recorder_state.h"
#include "profiler/unwind/unwind.h"

namespace slurmscope {
namespace {

constexpr int kMaxFrames = 64;

// Beginnings of file names. libevent is not among them: applications use it too, and MPI calls it from its own threads.
constexpr const char *kRuntimeLibraries[] = {
    "libmpi.", "libmpi_", "libmpich", "libopen-pal", "libopen-rte", "libpmix", "libprrte", "mca_", "libucs", "libuct",
    "libucp", "libucm", "libfabric", "libpsm", "libhcoll", "libsharp", "libportals", "libpmi.", "libpmi2.",
};

#if __GLIBC_PREREQ(2, 35)
const link_map *object_of(uint64_t address) {
  dl_find_object object;
  return _dl_find_object(reinterpret_cast<void *>(address), &object) == 0 ? object.dlfo_link_map : nullptr;
}

/// The object of the thread's outermost function that is not libc's; NULL: not known.
const link_map *first_object(UnwindState *state) {
  const link_map *libc = object_of(reinterpret_cast<uint64_t>(gnu_get_libc_version())), *outermost = nullptr;
  bool is_exact = true;
  begin_here(state);
  for (int frames = 0; frames < kMaxFrames; frames++) {
    Step step = unwind_step(state, &is_exact);
    uint64_t address = state->registers[kRegisterPc];
    if (step == Step::kOutermost || (step == Step::kCaller && address == 0)) return outermost;
    if (step == Step::kLost) return nullptr;
    const link_map *object = object_of(address - 1);
    if (object != nullptr && object != libc) outermost = object;
  }
  return nullptr;
}

bool starts_in_runtime() {
  void *memory = raw::map_memory(sizeof(UnwindState));
  if (memory == nullptr) return false;
  const link_map *object = first_object(static_cast<UnwindState *>(memory));
  raw::unmap(memory, sizeof(UnwindState));
  return object != nullptr && object->l_name != nullptr && is_runtime_library(object->l_name);
}
#else
bool starts_in_runtime() { return false; }
#endif

}  // namespace

bool is_runtime_library(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash != nullptr ? slash + 1 : path;
  for (const char *beginning : kRuntimeLibraries)
    if (strncmp(name, beginning, strlen(beginning)) == 0) return true;
  return false;
}

bool is_runtime_thread() {
  ThreadLocal *self = thread_local_state();
  if (self->owner != kOwnerUnknown) return self->owner == kOwnerRuntime;
  // Before the first MPI call there is no such thread; the main thread, and one that is recorded, is none.
  if (!process_state.is_mpi || self->is_sealed) return false;
  int error = errno;
  bool is_runtime = self->recorder == nullptr && raw::gettid() != raw::getpid() && starts_in_runtime();
  self->owner = is_runtime ? kOwnerRuntime : kOwnerApplication;
  errno = error;
  return is_runtime;
}

}  // namespace slurmscope
