// Descriptor and path tables of the I/O wrappers; see file_table.h for the rules.
#include "profiler/io/file_table.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/io/path_text.h"
#include "profiler/preload/recorder.h"

namespace slurmscope {
namespace {

constexpr unsigned kMaxDescriptors = 1u << 20;  // further ones are recorded without a file
constexpr uint32_t kPathSlots = 1u << 17;       // twice kMaxFiles: short probe sequences
constexpr unsigned kScratchCount = 64;          // threads that can name a file at the same time

enum PathState : uint32_t { kIsNew = 0, kIsDefined = 1, kIsLost = 2 };

struct PathSlot {
  std::atomic<uint64_t> hash;  // 0: free
  std::atomic<uint32_t> id;    // 0: being given
  std::atomic<uint32_t> state;
};

/// Room to put a definition together, outside the application's (maybe tiny) stack.
struct Scratch {
  FileDefinition definition;
  char path[kMaxPath];  // follows the definition, as in the ring
  std::atomic<uint32_t> is_used;
};
static_assert(offsetof(Scratch, path) == sizeof(FileDefinition));

struct FileTable {
  std::atomic<int32_t> owner;
  std::atomic<uint32_t> files;            // ids given
  std::atomic<uint32_t> others_defined;
  std::atomic<uint32_t> descriptor_limit; // above every descriptor ever set
  alignas(64) std::atomic<uint32_t> descriptors[kMaxDescriptors];
  alignas(64) PathSlot paths[kPathSlots];
  alignas(64) Scratch scratch[kScratchCount];
};

FileTable *table;
char spool_directory[kMaxPath];

bool is_excluded(const char *path) {
  // eventfd, timerfd, epoll: wake-ups between threads, most of them of MPI's own progress thread.
  if (strncmp(path, "anon_inode:", 11) == 0) return true;
  return path_is_under(path, "/proc") || path_is_under(path, "/sys") ||
         (spool_directory[0] != '\0' && path_is_under(path, spool_directory));
}

/// Claims a scratch for its own lifetime; get() is NULL if all are in use.
class ScratchClaim {
 public:
  ScratchClaim() {
    for (Scratch &candidate : table->scratch) {
      if (candidate.is_used.load(std::memory_order_relaxed) == 0 &&
          candidate.is_used.exchange(1, std::memory_order_acquire) == 0) {
        scratch_ = &candidate;
        return;
      }
    }
    recorder_link->count_loss(LossReason::kDefinition);
  }
  ~ScratchClaim() {
    if (scratch_ != nullptr) scratch_->is_used.store(0, std::memory_order_release);
  }
  ScratchClaim(const ScratchClaim &) = delete;
  ScratchClaim &operator=(const ScratchClaim &) = delete;
  Scratch *get() const { return scratch_; }

 private:
  Scratch *scratch_ = nullptr;
};

bool define_file(Scratch *scratch, uint32_t id) {
  size_t length = strlen(scratch->path);
  size_t size = sizeof(FileDefinition) + length;
  size_t padded = (size + 7) & ~size_t{7};
  memset(scratch->path + length, 0, padded - size);
  scratch->definition.header = {static_cast<uint32_t>(padded), DefinitionKind::kFile, 0};
  scratch->definition.time = now_ticks();
  scratch->definition.id = id;
  scratch->definition.path_size = static_cast<uint32_t>(length);
  return recorder_link->define(&scratch->definition.header);
}

uint32_t other_files(Scratch *scratch) {
  if (table->others_defined.exchange(1, std::memory_order_relaxed) == 0) {
    strcpy(scratch->path, "(other files)");
    if (!define_file(scratch, kMaxFiles)) table->others_defined.store(0, std::memory_order_relaxed);
    recorder_link->note("more than 65535 files: the others are counted together as \"(other files)\"");
  }
  return kMaxFiles;
}

/// Id of scratch->path (absolute, or a kind such as "socket:").
uint32_t id_of_path(Scratch *scratch, bool may_add) {
  if (is_excluded(scratch->path)) return kExcludedFile;
  uint64_t hash = path_hash(scratch->path);
  for (uint32_t probe = 0; probe < kPathSlots; probe++) {
    PathSlot &slot = table->paths[(hash + probe) & (kPathSlots - 1)];
    uint64_t found = slot.hash.load(std::memory_order_acquire);
    if (found == 0) {
      if (!may_add) return kNoFile;
      if (table->files.load(std::memory_order_relaxed) >= kMaxFiles - 1) return other_files(scratch);
      if (slot.hash.compare_exchange_strong(found, hash, std::memory_order_acq_rel)) {
        uint32_t id = table->files.fetch_add(1, std::memory_order_relaxed) + 1;
        if (id >= kMaxFiles) id = other_files(scratch);
        bool is_defined = id == kMaxFiles || define_file(scratch, id);
        slot.state.store(is_defined ? kIsDefined : kIsLost, std::memory_order_relaxed);
        slot.id.store(id, std::memory_order_release);
        return id;
      }
    }
    if (found != hash) continue;
    uint32_t id = 0;  // another thread may be defining it at this moment
    for (int attempt = 0; attempt < 10000 && (id = slot.id.load(std::memory_order_acquire)) == 0; attempt++)
      __builtin_ia32_pause();
    uint32_t lost = kIsLost;  // its first definition found no room: try again
    if (id != 0 && slot.state.compare_exchange_strong(lost, kIsDefined, std::memory_order_relaxed) &&
        !define_file(scratch, id))
      slot.state.store(kIsLost, std::memory_order_relaxed);
    return id;
  }
  return kNoFile;
}

/// Writes what /proc/self/fd/`fd` points to into scratch->path; false if there is no such descriptor.
bool read_descriptor_path(Scratch *scratch, int fd) {
  char link[32];
  descriptor_link(fd, link);
  long length = syscall(SYS_readlinkat, AT_FDCWD, link, scratch->path, kMaxPath - 1);
  if (length <= 0) return false;
  scratch->path[length] = '\0';
  return true;
}

/// Puts the absolute form of `path` into scratch->path.
bool make_absolute(Scratch *scratch, int directory, const char *path) {
  size_t length = 0;
  if (path == nullptr || path[0] == '\0') {  // AT_EMPTY_PATH
    if (!read_descriptor_path(scratch, directory)) return false;
    reduce_to_kind(scratch->path);
    return true;
  }
  if (path[0] != '/') {
    if (directory == AT_FDCWD) {
      if (syscall(SYS_getcwd, scratch->path, kMaxPath) <= 0) return false;
    } else if (!read_descriptor_path(scratch, directory)) {
      return false;
    }
    length = strlen(scratch->path);
    if (length + 2 >= kMaxPath) return false;
    scratch->path[length++] = '/';
  }
  size_t rest = strnlen(path, kMaxPath);
  if (length + rest + 1 > kMaxPath) return false;
  memcpy(scratch->path + length, path, rest);
  scratch->path[length + rest] = '\0';
  tidy_path(scratch->path);
  return true;
}

/// Keeps errno over a function.
class KeepErrno {
 public:
  KeepErrno() : error_(errno) {}
  ~KeepErrno() { errno = error_; }

 private:
  int error_;
};

}  // namespace

bool file_table_create(const char *spool) {
  KeepErrno keep;
  if (strlen(spool) < sizeof(spool_directory)) strcpy(spool_directory, spool);
  tidy_path(spool_directory);
  void *memory = mmap(nullptr, sizeof(FileTable), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  if (madvise(memory, sizeof(FileTable), MADV_WIPEONFORK) != 0) {
    munmap(memory, sizeof(FileTable));
    return false;
  }
  madvise(memory, sizeof(FileTable), MADV_NOHUGEPAGE);  // a touched entry costs one small page
  table = static_cast<FileTable *>(memory);
  file_table_owner();
  return true;
}

int32_t file_table_owner() {
  int32_t owner = table->owner.load(std::memory_order_relaxed);
  if (owner != 0) return owner;
  int32_t pid = static_cast<int32_t>(syscall(SYS_getpid));
  return table->owner.compare_exchange_strong(owner, pid, std::memory_order_relaxed) ? pid : owner;
}

uint32_t known_file_of_descriptor(int fd) {
  if (static_cast<unsigned>(fd) >= kMaxDescriptors) return kNoFile;
  return table->descriptors[fd].load(std::memory_order_relaxed);
}

uint32_t file_of_descriptor(int fd) {
  uint32_t file = known_file_of_descriptor(fd);
  if (__builtin_expect(file != kNoFile, 1) || static_cast<unsigned>(fd) >= kMaxDescriptors) return file;
  KeepErrno keep;
  Hidden hidden;
  ScratchClaim claim;
  Scratch *scratch = claim.get();
  if (scratch == nullptr || !read_descriptor_path(scratch, fd)) return kNoFile;
  reduce_to_kind(scratch->path);
  file = id_of_path(scratch, true);
  // Not a plain store: the application may have opened something else under this number meanwhile.
  uint32_t unknown = kNoFile;
  if (table->descriptors[fd].compare_exchange_strong(unknown, file, std::memory_order_relaxed)) {
    uint32_t limit = table->descriptor_limit.load(std::memory_order_relaxed);
    while (limit <= static_cast<unsigned>(fd) &&
           !table->descriptor_limit.compare_exchange_weak(limit, fd + 1, std::memory_order_relaxed)) {
    }
  }
  return file;
}

uint32_t file_of_path(int directory, const char *path, bool may_add) {
  KeepErrno keep;
  ScratchClaim claim;
  Scratch *scratch = claim.get();
  if (scratch == nullptr || !make_absolute(scratch, directory, path)) return kNoFile;
  return id_of_path(scratch, may_add);
}

uint32_t file_of_unnamed(int directory, const char *path) {
  constexpr char kUnnamed[] = "/(unnamed)";
  KeepErrno keep;
  ScratchClaim claim;
  Scratch *scratch = claim.get();
  if (scratch == nullptr || !make_absolute(scratch, directory, path)) return kNoFile;
  size_t length = strlen(scratch->path);
  if (length + sizeof(kUnnamed) > kMaxPath) return kNoFile;
  memcpy(scratch->path + length, kUnnamed, sizeof(kUnnamed));
  return id_of_path(scratch, true);
}

void set_descriptor(int fd, uint32_t file) {
  if (static_cast<unsigned>(fd) >= kMaxDescriptors) return;
  std::atomic<uint32_t> &entry = table->descriptors[fd];
  if (file == kNoFile && entry.load(std::memory_order_relaxed) == kNoFile) return;  // keep the page untouched
  entry.store(file, std::memory_order_relaxed);
  uint32_t limit = table->descriptor_limit.load(std::memory_order_relaxed);
  while (limit <= static_cast<unsigned>(fd) &&
         !table->descriptor_limit.compare_exchange_weak(limit, fd + 1, std::memory_order_relaxed)) {
  }
}

void copy_descriptor(int fd, int copy) { set_descriptor(copy, known_file_of_descriptor(fd)); }

void forget_descriptors(unsigned first, unsigned last) {
  uint32_t limit = table->descriptor_limit.load(std::memory_order_relaxed);
  for (unsigned fd = first; fd < limit && fd <= last; fd++)
    table->descriptors[fd].store(kNoFile, std::memory_order_relaxed);
}

}  // namespace slurmscope
