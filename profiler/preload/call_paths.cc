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

PathLine (&pair_of(CallPaths *paths, CallSite site))[2] {
  uint64_t key = reinterpret_cast<uint64_t>(site.address) * 0x9e3779b97f4a7c15u ^
                 reinterpret_cast<uint64_t>(site.stack) * 0xc2b2ae3d27d4eb4fu;
  return paths->lines[key >> (64 - kPathLineBits)];
}

/// The words that are read lie between the stack pointer and the top of the thread's own stack: find_path() has
/// seen to that when it made the line for this stack pointer.
inline bool is_same_path(const PathLine &line, uint64_t address, uint64_t stack) {
  if (line.address != address || line.stack != stack) return false;
  uint64_t difference = 0;
  for (uint32_t i = 0; i < line.depth; i++)
    difference |= *reinterpret_cast<const uint64_t *>(stack + line.offsets[i]) ^ line.addresses[i];
  return difference == 0;
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

uint64_t hash_of(const Path &path) {
  uint64_t hash = path.depth * 2 + path.is_truncated;
  for (uint32_t i = 0; i < path.depth; i++) {
    hash = (hash ^ path.addresses[i]) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash != 0 ? hash : 1;
}

// The table holds hashes of 63 bits; a slot's number plus one is the id. Bit 63 marks a slot whose
// definition is on its way in another thread's ring: whoever sees it defines the path as well, so that
// no event overtakes the definition. The same definition twice does no harm.
uint32_t id_of(const Path &path) {
  constexpr uint64_t kPending = uint64_t{1} << 63;
  std::atomic<uint64_t> *sites = process_state.sites;
  if (sites == nullptr) return 0;
  uint64_t wanted = hash_of(path) & ~kPending;
  // What whole paths do not use is left for return addresses alone.
  uint32_t limit = path.depth == 1 ? kSiteSlots / 8 * 7 : kSiteSlots / 4 * 3;
  uint32_t slot = static_cast<uint32_t>(wanted >> 40) % kSiteSlots;
  for (uint32_t probe = 0; probe < 64; probe++, slot = (slot + 1) % kSiteSlots) {
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
  PathLine(&pair)[2] = pair_of(paths, site);
  uint8_t *oldest = &paths->oldest[(&pair - paths->lines)];
  PathLine &line = pair[*oldest & 1];
  *oldest ^= 1;
  line.address = 0;  // a signal handler may leave this function with longjmp()
  std::atomic_signal_fence(std::memory_order_release);
  line.stack = reinterpret_cast<uint64_t>(site.stack);
  line.id = id;
  line.depth = path.depth - 1;
  memcpy(line.offsets, path.offsets + 1, line.depth * sizeof line.offsets[0]);
  memcpy(line.addresses, path.addresses + 1, line.depth * sizeof line.addresses[0]);
  std::atomic_signal_fence(std::memory_order_release);
  line.address = path.addresses[0];
  return id;
}

}  // namespace

uint32_t site_id(CallSite site) {
  ThreadRecorder *recorder = thread_local_state()->recorder;
  if (__builtin_expect(recorder == nullptr || site.address == nullptr, 0)) return 0;
  if (CallPaths *paths = recorder->paths; __builtin_expect(paths != nullptr, 1)) {
    const PathLine(&pair)[2] = pair_of(paths, site);
    uint64_t address = reinterpret_cast<uint64_t>(site.address), stack = reinterpret_cast<uint64_t>(site.stack);
    if (__builtin_expect(is_same_path(pair[0], address, stack), 1)) return pair[0].id;
    if (is_same_path(pair[1], address, stack)) return pair[1].id;
  }
  return find_path(recorder, site);
}

void forget_paths(ThreadRecorder *recorder) {
  if (recorder->paths != nullptr) raw::unmap(recorder->paths, sizeof(CallPaths));
  recorder->paths = nullptr;
}

}  // namespace slurmscope
