// Finds out which MPI this process uses, and points the thunks' slots at a backend or straight through.
//
// Called by the lazy path of the thunks at the first MPI call, never earlier: a process without MPI
// loads nothing. No lock: two threads that come first at once both do the work and write the same
// values. dlopen and dlsym of libc may allocate, as they do for the application itself. Errno is kept.
//
// The second way to an MPI routine is dlsym: who asks for one by name (ctypes, Julia, plugins) gets the
// thunk where the answer would have been the function that the thunk leads to, and the truth elsewhere.
// MPI itself gets libc's mmap from it, not ours.
#include "profiler/preload/resolve.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>

#include "profiler/io/io_engine.h"
#include "profiler/io/io_recording.h"
#include "profiler/io/real_function.h"
#include "profiler/mpi/backend_link.h"
#include "profiler/preload/recorder_state.h"
#include "profiler/preload/runtime_threads.h"

extern "C" {
extern void *slurmscope_slots[] __attribute__((visibility("hidden")));
extern void *slurmscope_real_longjmp __attribute__((visibility("hidden")));
extern void *slurmscope_real__longjmp __attribute__((visibility("hidden")));
extern void *slurmscope_real_siglongjmp __attribute__((visibility("hidden")));
extern void *slurmscope_real___longjmp_chk __attribute__((visibility("hidden")));
extern void *slurmscope_real_vfork __attribute__((visibility("hidden")));
extern void *slurmscope_real_clone __attribute__((visibility("hidden")));
extern void *slurmscope_real_dlsym __attribute__((visibility("hidden")));
extern const int32_t slurmscope_thunks[] __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"))) void *slurmscope_resolve(size_t slot);
__attribute__((visibility("hidden"))) void slurmscope_resolve_libc();
__attribute__((visibility("hidden"))) void *slurmscope_asked_symbol(void *library, const char *name);
__attribute__((visibility("hidden"))) void *slurmscope_asked_mapping(const void *caller, const char *name);
}

namespace slurmscope {
namespace {

// One text and places in it: an array of pointers would be written to by the loader in every command of a job.
constexpr char kSlotNames[] =
#define MPI_CALL(name, ...) #name "\0P" #name "\0"
#include "profiler/mpi/mpi_calls.def"
#undef MPI_CALL
    ;

struct SlotPlaces {
  uint16_t places[kMpiSlotCount];
};
constexpr SlotPlaces find_slot_places() {
  SlotPlaces found = {};
  size_t place = 0;
  for (uint16_t &slot : found.places) {
    slot = static_cast<uint16_t>(place);
    while (kSlotNames[place++] != 0) {
    }
  }
  return found;
}
static_assert(sizeof(kSlotNames) < 65536);
constexpr SlotPlaces kSlotPlaces = find_slot_places();

const char *slot_name(size_t slot) { return kSlotNames + kSlotPlaces.places[slot]; }

/// An MPI that a backend exists for, told by a symbol that its mpi.h makes programs refer to.
struct Implementation {
  const char *marker;
  const char *backend;
};
constexpr Implementation kImplementations[] = {
    {"ompi_mpi_comm_world", "slurmscope-openmpi.so"},
    {"MPIR_Dup_fn", "slurmscope-mpich.so"},
};

// NULL: MPI is in the global scope behind us. Else the handle of a library loaded with RTLD_LOCAL
// (mpi4py, plugins), which is never closed again.
std::atomic<void *> local_library;

// libc's dlsym, past our own. RTLD_NEXT goes by its caller's address: it must be called, not jumped to,
// from this library.
void *symbol_in(void *library, const char *name) {
  if (slurmscope_real_dlsym == nullptr) resolve_libc();
  void *found = reinterpret_cast<decltype(&dlsym)>(slurmscope_real_dlsym)(library, name);
  __asm__ volatile("" : "+r"(found));
  return found;
}
void *next_symbol(const char *name) { return symbol_in(RTLD_NEXT, name); }

void *find_function(const char *name) {
  void *library = local_library.load(std::memory_order_acquire);
  return symbol_in(library != nullptr ? library : RTLD_NEXT, name);
}

// Objects may be copied into the executable, which is before us in the search: so not RTLD_NEXT.
void *find_object(const char *name) {
  void *library = local_library.load(std::memory_order_acquire);
  return symbol_in(library != nullptr ? library : RTLD_DEFAULT, name);
}

struct ObjectName {
  size_t wanted, seen;
  char path[4096];
};

int copy_name(dl_phdr_info *info, size_t, void *data) {
  auto *name = static_cast<ObjectName *>(data);
  if (name->seen++ != name->wanted) return 0;
  name->path[0] = 0;
  if (info->dlpi_name != nullptr && strlen(info->dlpi_name) < sizeof(name->path)) strcpy(name->path, info->dlpi_name);
  return 1;
}

// Goes through the loaded objects one by one: nothing may be opened inside dl_iterate_phdr.
void *find_local_library() {
  Dl_info us;
  if (dladdr(reinterpret_cast<void *>(&find_local_library), &us) == 0) return nullptr;
  ObjectName name;
  for (size_t i = 0; i < 4096; i++) {
    name.wanted = i;
    name.seen = 0;
    if (dl_iterate_phdr(copy_name, &name) == 0) return nullptr;
    if (name.path[0] != '/') continue;
    void *library = dlopen(name.path, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    // A handle is searched with all that it depends on: ask who the symbol belongs to.
    void *symbol = symbol_in(library, "PMPI_Init");
    Dl_info owner;
    if (symbol != nullptr && dladdr(symbol, &owner) != 0 && owner.dli_fbase != us.dli_fbase) return library;
    dlclose(library);
  }
  return nullptr;
}

bool has_mpi() {
  if (local_library.load(std::memory_order_acquire) != nullptr || next_symbol("PMPI_Init") != nullptr) return true;
  void *library = find_local_library();
  if (library == nullptr) return false;
  local_library.store(library, std::memory_order_release);
  return true;
}

// Behind a name that the MPI of this process does not have, and which nobody could have linked to.
int absent_function() { return 16; }  // an error class of every MPI
// MPI_Initialized and MPI_Finalized where there is no MPI: asked by programs that work with and without.
int is_not_so(int *flag) {
  if (flag != nullptr) *flag = 0;
  return 0;
}
void *without_mpi(size_t slot) {
  size_t call = slot / 2 + 1;
  bool asks = call == kCall_MPI_Initialized || call == kCall_MPI_Finalized;
  return asks ? reinterpret_cast<void *>(&is_not_so) : reinterpret_cast<void *>(&absent_function);
}

uint32_t file_id(const char *path) {
  if (!io_is_enabled) return kNoFile;
  uint32_t id = file_of_path(AT_FDCWD, path, true);
  return id != kExcludedFile ? id : kNoFile;
}

MpiLibrary mpi_library = {find_function, find_object, file_id, false};

bool start_backend() {
  const char *file = nullptr;
  for (const Implementation &known : kImplementations)
    if (file == nullptr && find_object(known.marker) != nullptr) file = known.backend;
  if (file == nullptr) {
    log_trouble("record MPI: neither Open MPI nor MPICH", nullptr, 0);
    note("MPI calls are not recorded: the MPI library is neither Open MPI nor of the MPICH family");
    return false;
  }
  mpi_library.records_queries = library_state.settings.mpi_queries != 0;
  char path[4096];
  void *module = path_beside_us(file, path, sizeof(path)) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  auto *backend = module != nullptr ? static_cast<const MpiBackend *>(dlsym(module, "slurmscope_mpi_backend")) : nullptr;
  if (backend != nullptr && backend->version == kRingVersion && backend->slots == kMpiSlotCount &&
      backend->start(backend_link(), &mpi_library, slurmscope_slots))
    return true;
  log_trouble("load the MPI backend", file, 0);
  note("MPI calls are not recorded: the backend for this MPI library could not be loaded");
  return false;
}

void pass_through() {
  for (size_t slot = 0; slot < kMpiSlotCount; slot++) {
    void *real = find_function(slot_name(slot));
    if (real == nullptr) real = reinterpret_cast<void *>(&absent_function);
    __atomic_store_n(&slurmscope_slots[slot], real, __ATOMIC_RELEASE);
  }
}

}  // namespace

bool path_beside_us(const char *file, char *path, size_t size) {
  Dl_info us;
  path[0] = 0;
  if (dladdr(reinterpret_cast<void *>(&path_beside_us), &us) == 0 || us.dli_fname == nullptr) return false;
  const char *slash = strrchr(us.dli_fname, '/');
  if (slash == nullptr) return false;
  size_t folder = static_cast<size_t>(slash - us.dli_fname) + 1;
  if (folder + strlen(file) >= size) return false;
  memcpy(path, us.dli_fname, folder);
  strcpy(path + folder, file);
  return true;
}

AT_START void resolve_libc() {
  // First: the others are looked up with it. Not by dlsym, which leads back here.
  slurmscope_real_dlsym = dlvsym(RTLD_NEXT, "dlsym", kOldestLibcVersion);
  slurmscope_real_longjmp = next_symbol("longjmp");
  slurmscope_real__longjmp = next_symbol("_longjmp");
  slurmscope_real_siglongjmp = next_symbol("siglongjmp");
  slurmscope_real___longjmp_chk = next_symbol("__longjmp_chk");
  slurmscope_real_vfork = next_symbol("vfork");
  slurmscope_real_clone = next_symbol("clone");
}

}  // namespace slurmscope

void slurmscope_resolve_libc() { slurmscope::resolve_libc(); }

void *slurmscope_resolve(size_t slot) {
  using namespace slurmscope;
  int saved = errno;
  void *target = without_mpi(slot);
  {
    // Nested when a wrapper of ours is what called: then the guard must be as it was.
    Hidden hidden;
    if (has_mpi()) {
      bool records = await_library_state() && start_backend();
      if (!records) pass_through();
      target = __atomic_load_n(&slurmscope_slots[slot], __ATOMIC_ACQUIRE);
    }
  }
  errno = saved;
  return target;
}

// dlsym(library, name) of a name that begins with MPI_ or PMPI_, unless library is RTLD_NEXT.
void *slurmscope_asked_symbol(void *library, const char *name) {
  using namespace slurmscope;
  void *found = symbol_in(library, name);
  size_t slot = 0;
  while (slot < kMpiSlotCount && strcmp(slot_name(slot), name) != 0) slot++;
  if (found == nullptr || slot == kMpiSlotCount) return found;
  void *thunk = const_cast<char *>(reinterpret_cast<const char *>(slurmscope_thunks)) + slurmscope_thunks[slot];
  int saved = errno;
  {
    Hidden hidden;
    void *behind = has_mpi() ? find_function(name) : nullptr;
    if (found == thunk) {
      // A search of all that is loaded, which finds us first: there is such a routine only if an MPI has it.
      if (behind == nullptr) found = next_symbol(name);  // NULL, and dlerror() says so
    } else if (library != RTLD_DEFAULT && found == behind && await_library_state()) {
      found = thunk;
    }
    if (found != nullptr) dlerror();  // what our own look-ups did not find is no error of the caller's
  }
  errno = saved;
  return found;
}

// dlsym(RTLD_DEFAULT, name) of a name that begins with mmap, by the code at `caller`. UCX and Open MPI overwrite the
// first instructions of the function that they find, to follow memory: of ours, the program's mappings would be seen
// no more, and those that libc makes for itself would not be seen by them.
void *slurmscope_asked_mapping(const void *caller, const char *name) {
  using namespace slurmscope;
  void *found = symbol_in(RTLD_DEFAULT, name);
  if (found == nullptr) return nullptr;
  int saved = errno;
  Dl_info owner, asker;
  bool is_ours = dladdr(found, &owner) != 0 && dladdr(slurmscope_slots, &asker) != 0 && owner.dli_fbase == asker.dli_fbase;
  if (is_ours && dladdr(caller, &asker) != 0 && asker.dli_fname != nullptr && is_runtime_library(asker.dli_fname)) {
    void *behind = next_symbol(name);
    if (behind != nullptr) found = behind;
    find_mapping_functions();  // UCX's constructor comes before ours: from now on ours must go through what it patches
  }
  errno = saved;
  return found;
}
