// See call_paths.h.
#include "profiler/preload/call_paths.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/auxv.h>

#include "profiler/preload/raw_syscall.h"
#include "profiler/preload/recorder_state.h"

namespace slurmscope {
namespace {

constexpr int kMaxOwnFrames = 24;         // between find_path() and the wrapper's caller
constexpr uint64_t kEntryCodeBytes = 64;  // _start is about that long

struct Path {
  uint32_t depth = 1;
  bool is_truncated = true;
  uint64_t addresses[kMaxPathDepth];
  uint32_t offsets[kMaxPathDepth];
};

uint32_t set_of(uint64_t address, uint64_t stack) {
  return static_cast<uint32_t>((address * 0x9e3779b97f4a7c15u ^ stack * 0xc2b2ae3d27d4eb4fu) >> (64 - kLayoutSetBits));
}

struct Factors {
  uint64_t values[kMaxPathDepth];
};

/// Odd numbers of 64 bits (the generator is SplitMix64).
constexpr Factors make_factors() {
  Factors factors = {};
  uint64_t state = 0;
  for (uint64_t &factor : factors.values) {
    uint64_t mixed = state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    factor = (mixed ^ mixed >> 31) | 1;
  }
  return factors;
}
constexpr Factors kFactors = make_factors();

// The hash of a path is a sum of products (multilinear hashing: Lemire and Kaser, "Strongly universal string hashing
// is fast", 2014), which a processor computes several addresses at a time. Not 0, and without its highest bit.
inline uint64_t finish_hash(uint64_t sum, uint32_t depth, bool is_truncated) {
  uint64_t hash = (sum + (depth * 2 + is_truncated) * uint64_t{0xd6e8feb86659fd93}) << 1 >> 1;
  return hash != 0 ? hash : 1;
}

uint64_t hash_of(const Path &path) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < path.depth; i++) sum += path.addresses[i] * kFactors.values[i];
  return finish_hash(sum, path.depth, path.is_truncated);
}

/// The hash of the path that the stack holds if it is laid out so. The words that are read lie between the stack
/// pointer and the top of the thread's own stack: find_path() has seen to that for this stack pointer.
inline uint64_t hash_of(const PathLayout &layout) {
  uint64_t sum = layout.address * kFactors.values[0];
  for (uint32_t i = 0; i < layout.depth; i++)
    sum += *reinterpret_cast<const uint64_t *>(layout.stack + layout.offsets[i]) * kFactors.values[i + 1];
  return finish_hash(sum, layout.depth + 1, layout.is_truncated);
}

// The process's table holds hashes; a slot's number plus one is the id. The highest bit marks a slot whose
// definition is on its way in another thread's ring: whoever sees it defines the path as well, so that
// no event overtakes the definition. The same definition twice does no harm.
constexpr uint64_t kPending = uint64_t{1} << 63;
constexpr uint32_t kProbes = 64;

uint32_t first_slot(uint64_t hash) { return static_cast<uint32_t>(hash >> 40) % kSiteSlots; }

/// The id of a path that is defined; 0: none.
inline uint32_t known_id(uint64_t hash) {
  const std::atomic<uint64_t> *sites = process_state.sites;
  if (sites == nullptr) return 0;
  uint32_t slot = first_slot(hash);
  for (uint32_t probe = 0; probe < kProbes; probe++, slot = (slot + 1) % kSiteSlots) {
    uint64_t found = sites[slot].load(std::memory_order_acquire);
    if (found == hash) return slot + 1;
    if (found == 0) return 0;
  }
  return 0;
}

void define_path(uint32_t id, const Path &path) {
  struct {
    SiteDefinition definition;
    uint64_t addresses[kMaxPathDepth];
  } record;
  uint32_t size = static_cast<uint32_t>(sizeof(SiteDefinition)) + path.depth * 8;
  record.definition = {{size, DefinitionKind::kSite, 0}, id, static_cast<uint16_t>(path.depth), path.is_truncated};
  memcpy(record.addresses, path.addresses, path.depth * size_t{8});
  define(&record.definition.header);
}

/// The id of the path, which is defined if need be; 0: too many.
uint32_t id_of(const Path &path) {
  std::atomic<uint64_t> *sites = process_state.sites;
  if (sites == nullptr) return 0;
  uint64_t wanted = hash_of(path);
  // What whole paths do not use is left for return addresses alone.
  uint32_t limit = path.depth == 1 ? kSiteSlots / 8 * 7 : kSiteSlots / 4 * 3;
  uint32_t slot = first_slot(wanted);
  for (uint32_t probe = 0; probe < kProbes; probe++, slot = (slot + 1) % kSiteSlots) {
    uint64_t found = sites[slot].load(std::memory_order_acquire);
    if (found == wanted) return slot + 1;
    if (found == 0) {
      if (process_state.site_count.load(std::memory_order_relaxed) >= limit) return 0;
      if (sites[slot].compare_exchange_strong(found, wanted | kPending, std::memory_order_acq_rel)) {
        process_state.site_count.fetch_add(1, std::memory_order_relaxed);
        found = wanted | kPending;
      }
    }
    if (found == wanted) return slot + 1;
    if (found == (wanted | kPending)) {
      define_path(slot + 1, path);
      sites[slot].store(wanted, std::memory_order_release);
      return slot + 1;
    }
  }
  return 0;
}

bool is_in_libc(uint64_t address) {
#if __GLIBC_PREREQ(2, 35)
  dl_find_object libc, object;
  return _dl_find_object(const_cast<char *>(gnu_get_libc_version()), &libc) == 0 &&
         _dl_find_object(reinterpret_cast<void *>(address - 1), &object) == 0 && object.dlfo_link_map == libc.dlfo_link_map;
#else
  return address == 0;
#endif
}

/// What called main() or the thread's first function says nothing.
void drop_start(Path *path) {
  uint64_t entry = getauxval(AT_ENTRY);
  if (path->depth > 1 && path->addresses[path->depth - 1] - entry < kEntryCodeBytes) path->depth--;
  while (path->depth > 1 && is_in_libc(path->addresses[path->depth - 1])) path->depth--;
}

/// Fills the path beyond its first address from the stack; leaves it alone if it cannot be followed.
__attribute__((noinline)) void follow(CallPaths *paths, CallSite site, Path *path) {
  UnwindState *state = &paths->unwind;
  uint64_t stack = reinterpret_cast<uint64_t>(site.stack), address = reinterpret_cast<uint64_t>(site.address);
  bool is_exact = true;
  begin_here(state);
  // The part of the thread's own stack that is in use.
  state->own_low = state->registers[kRegisterSp];
  state->own_high = paths->stack.high;
  for (int frames = 0; state->registers[kRegisterSp] != stack || state->registers[kRegisterPc] != address; frames++)
    if (frames == kMaxOwnFrames || unwind_step(state, &is_exact) != Step::kCaller) return;
  for (;;) {
    Step step = unwind_step(state, &is_exact);
    uint64_t slot = state->pc_slot, next = state->registers[kRegisterPc];
    if (step == Step::kOutermost || (step == Step::kCaller && next == 0)) break;
    // Beyond a signal frame the code was interrupted, not left by a call: the path ends there.
    if (step == Step::kLost || is_exact || slot < stack || slot % 8 != 0 || slot + 8 > paths->stack.high ||
        path->depth == kMaxPathDepth)
      return;
    path->offsets[path->depth] = static_cast<uint32_t>(slot - stack);
    path->addresses[path->depth++] = next;
  }
  path->is_truncated = false;
  drop_start(path);
}

CallPaths *paths_of(ThreadRecorder *recorder) {
  if (recorder->paths == nullptr) {
    recorder->paths = static_cast<CallPaths *>(raw::map_memory(sizeof(CallPaths)));
    if (recorder->paths != nullptr) recorder->paths->stack = find_own_stack();
  }
  return recorder->paths;
}

__attribute__((noinline)) uint32_t find_path(ThreadRecorder *recorder, CallSite site) {
  int saved_errno = errno;
  bool is_sealed = thread_local_state()->is_sealed != 0;  // no system calls any more
  CallPaths *paths = is_sealed ? recorder->paths : paths_of(recorder);
  Path path;
  path.addresses[0] = reinterpret_cast<uint64_t>(site.address);
  if (paths != nullptr && !is_sealed && paths->stack.contains(reinterpret_cast<uint64_t>(site.stack))) follow(paths, site, &path);
  uint32_t id = id_of(path);
  if (id == 0 && path.depth > 1) {  // too many paths
    path.depth = 1;
    path.is_truncated = true;
    id = id_of(path);
  }
  errno = saved_errno;
  if (paths == nullptr || id == 0) return id;
  uint64_t address = path.addresses[0], stack = reinterpret_cast<uint64_t>(site.stack);
  uint32_t set = set_of(address, stack);
  PathLayout &layout = paths->layouts[set][paths->oldest[set]++ % kLayoutWays];
  layout.address = 0;  // a signal handler may leave this function with longjmp()
  std::atomic_signal_fence(std::memory_order_release);
  layout.stack = stack;
  layout.depth = path.depth - 1;
  layout.is_truncated = path.is_truncated;
  memcpy(layout.offsets, path.offsets + 1, layout.depth * sizeof layout.offsets[0]);
  std::atomic_signal_fence(std::memory_order_release);
  layout.address = address;
  return id;
}

}  // namespace

uint32_t site_id(CallSite site) {
  ThreadRecorder *recorder = thread_local_state()->recorder;
  if (__builtin_expect(recorder == nullptr || site.address == nullptr, 0)) return 0;
  if (const CallPaths *paths = recorder->paths; __builtin_expect(paths != nullptr, 1)) {
    uint64_t address = reinterpret_cast<uint64_t>(site.address), stack = reinterpret_cast<uint64_t>(site.stack);
    for (const PathLayout &layout : paths->layouts[set_of(address, stack)]) {
      if (layout.address != address || layout.stack != stack) continue;
      if (uint32_t id = known_id(hash_of(layout)); __builtin_expect(id != 0, 1)) return id;
    }
  }
  return find_path(recorder, site);
}

void forget_paths(ThreadRecorder *recorder) {
  if (recorder->paths != nullptr) raw::unmap(recorder->paths, sizeof(CallPaths));
  recorder->paths = nullptr;
}

}  // namespace slurmscope
