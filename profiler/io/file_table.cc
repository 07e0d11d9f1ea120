// Names of files: path -> id, and what an unknown descriptor means; see file_table.h for the rules.
#include "profiler/io/file_table.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include "profiler/io/lazy_memory.h"
#include "profiler/io/path_rules.h"
#include "profiler/io/path_table.h"
#include "profiler/io/path_text.h"
#include "profiler/preload/recorder.h"

namespace slurmscope {
namespace {

constexpr unsigned kScratchCount = 32;  // threads that can name a file at the same time
constexpr int kPatience = 10000;        // pauses until another thread is taken for one that jumped away

/// Room to put a definition together, outside the application's (maybe tiny) stack.
struct Scratch {
  FileDefinition definition;
  char path[kMaxPath];  // follows the definition, as in the ring
  std::atomic<const ThreadLocal *> owner;
};
static_assert(offsetof(Scratch, path) == sizeof(FileDefinition));

struct FileNames {
  std::atomic<uint32_t> files;  // ids given
  std::atomic<uint32_t> others_defined;
  alignas(64) Scratch scratch[kScratchCount];
};

std::atomic<FileNames *> file_names;
std::atomic<uint32_t> has_no_proc;

FileNames *names() { return lazy_block(file_names, sizeof(FileNames)); }

bool is_excluded(const char *path) {
  // eventfd, timerfd, epoll: wake-ups between threads, most of them of MPI's own progress thread.
  if (strncmp(path, "anon_inode:", 11) == 0) return true;
  return !is_recorded_path(path);
}

/// Claims a scratch for its own lifetime; get() is NULL if all are in use.
class ScratchClaim {
 public:
  ScratchClaim() {
    FileNames *all = names();
    if (all == nullptr) return;
    for (int attempt = 0; attempt < kPatience; attempt++) {
      if ((scratch_ = find(all)) != nullptr) return;
      __builtin_ia32_pause();
    }
    recorder_link->count_loss(LossReason::kDefinition);
  }
  ~ScratchClaim() {
    if (scratch_ != nullptr) scratch_->owner.store(nullptr, std::memory_order_release);
  }
  ScratchClaim(const ScratchClaim &) = delete;
  ScratchClaim &operator=(const ScratchClaim &) = delete;
  Scratch *get() const { return scratch_; }

 private:
  static Scratch *find(FileNames *all) {
    const ThreadLocal *self = thread_local_state();
    for (Scratch &candidate : all->scratch) {
      const ThreadLocal *owner = candidate.owner.load(std::memory_order_relaxed);
      // Our own: left behind by a jump out of here, because under the guard nobody comes here twice.
      if (owner == self) return &candidate;
      if (owner == nullptr && candidate.owner.compare_exchange_strong(owner, self, std::memory_order_acquire)) return &candidate;
    }
    return nullptr;
  }

  Scratch *scratch_ = nullptr;
};

/// Which mount the file at an absolute path is on; 0 if the kernel does not say. Asks for nothing that a file system
/// would have to look for.
uint64_t mount_of(const char *path) {
  constexpr unsigned kMountId = 0x1000;  // STATX_MNT_ID, Linux 5.8
  struct statx facts;
  if (path[0] != '/' || raw::statx(path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, kMountId, &facts) != 0) return 0;
  return (facts.stx_mask & kMountId) != 0 ? facts.stx_mnt_id : 0;
}

bool define_file(Scratch *scratch, uint32_t id) {
  size_t length = strlen(scratch->path);
  size_t size = sizeof(FileDefinition) + length;
  size_t padded = (size + 7) & ~size_t{7};
  memset(scratch->path + length, 0, padded - size);
  scratch->definition.header = {static_cast<uint32_t>(padded), DefinitionKind::kFile, 0};
  scratch->definition.time = now_ticks();
  scratch->definition.id = id;
  scratch->definition.path_size = static_cast<uint32_t>(length);
  scratch->definition.mount = mount_of(scratch->path);
  return recorder_link->define(&scratch->definition.header);
}

uint32_t other_files(Scratch *scratch) {
  if (names()->others_defined.exchange(1, std::memory_order_relaxed) == 0) {
    strcpy(scratch->path, "(other files)");
    if (!define_file(scratch, kMaxFiles)) names()->others_defined.store(0, std::memory_order_relaxed);
    recorder_link->note("more than 65535 files: the others are counted together as \"(other files)\"");
  }
  return kMaxFiles;
}

/// Gives a slot an id, after its definition. Should another thread have been quicker, its id is the answer.
uint32_t give_id(PathSlot *slot, Scratch *scratch) {
  uint32_t id = names()->files.fetch_add(1, std::memory_order_relaxed) + 1;
  if (id >= kMaxFiles) id = other_files(scratch);
  bool is_defined = id == kMaxFiles || define_file(scratch, id);
  slot->state.store(is_defined ? kIsDefined : kIsLost, std::memory_order_relaxed);
  uint32_t none = 0;
  return slot->id.compare_exchange_strong(none, id, std::memory_order_acq_rel) ? id : none;
}

/// Id of scratch->path (absolute, or a kind such as "socket:").
uint32_t id_of_path(Scratch *scratch, bool may_add) {
  if (is_excluded(scratch->path)) return kExcludedFile;
  uint64_t hash = path_hash(scratch->path);
  bool is_full = names()->files.load(std::memory_order_relaxed) >= kMaxFiles - 1, is_new;
  PathSlot *slot = find_path(hash, may_add && !is_full, &is_new);
  if (slot == nullptr) return may_add ? other_files(scratch) : kNoFile;
  if (is_new) return give_id(slot, scratch);
  uint32_t id = 0;  // another thread may be defining it at this moment
  for (int attempt = 0; attempt < kPatience && (id = slot->id.load(std::memory_order_acquire)) == 0; attempt++)
    __builtin_ia32_pause();
  if (id == 0) return give_id(slot, scratch);
  uint32_t lost = kIsLost;  // its first definition found no room: try again
  if (slot->state.compare_exchange_strong(lost, kIsDefined, std::memory_order_relaxed) && !define_file(scratch, id))
    slot->state.store(kIsLost, std::memory_order_relaxed);
  return id;
}

/// Writes what /proc/self/fd/`fd` points to into scratch->path; false if the kernel does not say. Then
/// `*is_in_vain` tells whether it ever will.
bool read_descriptor_path(Scratch *scratch, int fd, bool *is_in_vain) {
  char link[32];
  *is_in_vain = true;
  if (has_no_proc.load(std::memory_order_relaxed) != 0) return false;
  descriptor_link(fd, link);
  long length = raw::readlink(link, scratch->path, kMaxPath - 1);
  if (length == -ENOENT) {
    // There is no such descriptor, or no /proc.
    *is_in_vain = !raw::exists("/proc/self/fd");
    if (*is_in_vain) has_no_proc.store(1, std::memory_order_relaxed);
  }
  if (length <= 0) return false;
  scratch->path[length] = '\0';
  return true;
}

uint32_t marks_of(SocketKind kind, bool names_peer) {
  return kSocketMark | (names_peer ? kPeerMark : 0) | static_cast<uint32_t>(kind) << kSocketKindShift;
}

SocketKind kind_of_socket(int fd) {
  int family = 0, type = 0;
  return raw::socket_option(fd, SO_DOMAIN, &family) && raw::socket_option(fd, SO_TYPE, &type) ? socket_kind(family, type) : SocketKind::kOther;
}

/// The file of a socket, by the peer that it is connected to.
uint32_t file_of_socket(Scratch *scratch, int fd) {
  sockaddr_storage peer;
  SocketKind kind = kind_of_socket(fd);
  size_t size = raw::peer_of_socket(fd, &peer, sizeof peer);
  bool names_peer = write_socket_text(kind, &peer, size, scratch->path);
  uint32_t file = id_of_path(scratch, true);
  return file == kExcludedFile || file == kNoFile ? file : file | marks_of(kind, names_peer);
}

/// Puts the absolute form of `path` into scratch->path.
bool make_absolute(Scratch *scratch, int directory, const char *path) {
  size_t length = 0;
  bool is_in_vain;
  if (path == nullptr || path[0] == '\0') {  // AT_EMPTY_PATH
    if (!read_descriptor_path(scratch, directory, &is_in_vain)) return false;
    reduce_to_kind(scratch->path);
    return true;
  }
  if (path[0] != '/') {
    if (directory == AT_FDCWD) {
      if (raw::getcwd(scratch->path, kMaxPath) <= 0) return false;
    } else if (!read_descriptor_path(scratch, directory, &is_in_vain)) {
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

}  // namespace

uint32_t file_of_descriptor(int fd) {
  uint32_t file = known_file_of_descriptor(fd);
  if (__builtin_expect(file != kNoFile, 1)) return file != kUnknowableFile ? file : kNoFile;
  if (fd < 0 || thread_local_state()->is_sealed) return kNoFile;
  Hidden hidden;
  ScratchClaim claim;
  Scratch *scratch = claim.get();
  if (scratch == nullptr) return kNoFile;
  bool is_in_vain;
  if (!read_descriptor_path(scratch, fd, &is_in_vain)) {
    if (is_in_vain) learn_descriptor(fd, kUnknowableFile);
    return kNoFile;
  }
  reduce_to_kind(scratch->path);
  file = strcmp(scratch->path, "socket:") == 0 ? file_of_socket(scratch, fd) : id_of_path(scratch, true);
  learn_descriptor(fd, file);
  return file;
}

uint32_t file_of_path(int directory, const char *path, bool may_add) {
  ScratchClaim claim;
  Scratch *scratch = claim.get();
  if (scratch == nullptr || !make_absolute(scratch, directory, path)) return kNoFile;
  return id_of_path(scratch, may_add);
}

uint32_t file_of_peer(int fd, uint32_t socket, const void *address, size_t size) {
  ScratchClaim claim;
  Scratch *scratch = claim.get();
  if (scratch == nullptr) return kNoFile;
  SocketKind kind = is_socket(socket) ? static_cast<SocketKind>(socket >> kSocketKindShift & 0xf) : kind_of_socket(fd);
  bool names_peer = write_socket_text(kind, address, size, scratch->path);
  uint32_t file = id_of_path(scratch, true);
  return file == kExcludedFile || file == kNoFile ? file : file | marks_of(kind, names_peer);
}

uint32_t file_of_unnamed(int directory, const char *path) {
  constexpr char kUnnamed[] = "/(unnamed)";
  ScratchClaim claim;
  Scratch *scratch = claim.get();
  if (scratch == nullptr || !make_absolute(scratch, directory, path)) return kNoFile;
  size_t length = strlen(scratch->path);
  if (length + sizeof(kUnnamed) > kMaxPath) return kNoFile;
  memcpy(scratch->path + length, kUnnamed, sizeof(kUnnamed));
  return id_of_path(scratch, true);
}

}  // namespace slurmscope
