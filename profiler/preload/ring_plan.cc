// See ring_plan.h.
#include "profiler/preload/ring_plan.h"

#include "profiler/preload/raw_syscall.h"
#include "profiler/preload/recorder_state.h"

namespace slurmscope {
namespace {

constexpr uint64_t kSmallestRing = 16 * 1024;
// Of the free space: 20 ranks that come one after another leave half of it. Of the address space and of the
// memory that may be locked: half, because there is one process to share it with.
constexpr uint64_t kSpaceShare = 32, kMemoryShare = 2;
constexpr uint64_t kUsableRing = 640 * 1024;  // 8192 events
constexpr uint64_t kUnlimited = ~uint64_t{0};

uint64_t halve(uint64_t bytes) { return bytes > kSmallestRing ? bytes / 2 : bytes; }

uint64_t power_of_two_below(uint64_t size) {
  uint64_t power = kSmallestRing;
  while (power * 2 <= size) power *= 2;
  return power;
}

/// The process's address space in bytes; 0: unknown.
uint64_t address_space() {
  int fd = raw::open("/proc/self/statm", O_RDONLY);
  if (fd < 0) return 0;
  char text[32];
  long size = raw::read(fd, text, sizeof(text));
  raw::close(fd);
  uint64_t pages = 0;
  for (long i = 0; i < size && text[i] >= '0' && text[i] <= '9'; i++) pages = pages * 10 + static_cast<uint64_t>(text[i] - '0');
  return pages * 4096;
}

/// What a ring may take of what `resource` leaves; nothing to watch over if it is exceeded already.
uint64_t share_of(int resource, uint64_t used) {
  uint64_t limit = raw::limit_of(resource);
  return limit == kUnlimited || limit <= used ? kUnlimited : (limit - used) / kMemoryShare;
}

uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

}  // namespace

RingLayout plan_ring(uint32_t index) {
  const Settings &settings = library_state.settings;
  bool has_samples = settings.sample > 0 || settings.counters[0] != 0;
  RingLayout layout = make_ring_layout(power_of_two_below(settings.ring_kib * 1024) / sizeof(Event), kDefinitionRingBytes,
                                       has_samples ? kSampleRingBytes : 0);
  for (int halvings = index < 1 ? 0 : index < 16 ? 3 : 6; halvings > 0; halvings--) shrink_ring(&layout);
  return layout;
}

bool shrink_ring(RingLayout *layout) {
  uint64_t events = layout->event_count * sizeof(Event);
  if (events <= kSmallestRing) return false;
  *layout = make_ring_layout(events / 2 / sizeof(Event), halve(layout->definition_bytes), halve(layout->sample_bytes));
  return true;
}

uint64_t ring_budget(int fd) {
  struct statfs space;
  uint64_t budget = kUnlimited;
  if (raw::fstatfs(fd, &space) == 0 && space.f_blocks != 0)
    budget = space.f_bavail * static_cast<uint64_t>(space.f_bsize) / kSpaceShare;
  uint64_t used = address_space();
  budget = smaller(budget, share_of(RLIMIT_AS, used));
  // mlockall(MCL_CURRENT) is refused if the whole address space exceeds the limit: where that would still
  // succeed, it should with us as well. Not so for MPI programs: at MPI_Init they are small, but soon beyond any
  // limit, and their rings must not be small for ever; hence also a floor, for those that read a file first.
  uint64_t lockable = process_state.is_mpi ? kUnlimited : share_of(RLIMIT_MEMLOCK, used);
  return smaller(budget, lockable > kUsableRing ? lockable : kUsableRing);
}

}  // namespace slurmscope
