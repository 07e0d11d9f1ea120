// See output_file.h.
#include "profiler/drain/output_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <vector>

#include "proto/error.h"

namespace slurmscope {
namespace {

constexpr int kMaxSuffix = 1000;
constexpr const char kExtension[] = ".sst";

[[noreturn]] void fail(const std::string &what) { throw Error(what + ": " + std::strerror(errno)); }

constexpr gid_t kNoGroup = static_cast<gid_t>(-1);

gid_t find_group(const std::string &name) {
  char *end = nullptr;
  unsigned long number = std::strtoul(name.c_str(), &end, 10);
  if (!name.empty() && *end == 0 && number < kNoGroup) return static_cast<gid_t>(number);
  std::vector<char> buffer(1 << 16);
  group entry, *found = nullptr;
  return getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr ? found->gr_gid : kNoGroup;
}

// Gives what was just made with mode `own` to the group: possible if the user is a member of it, or if the
// directory above has its set-group-ID bit and that group. `shared` must not be set by chmod in the latter case
// (it would take the bit away), so it is what the file was made with.
bool give_to_group(int file, gid_t group, mode_t own, mode_t shared) {
  struct stat status;
  bool is_given = group != kNoGroup && fstat(file, &status) == 0 && (status.st_gid == group || fchown(file, kNoGroup, group) == 0);
  if (is_given) return (status.st_mode & 07777 & ~S_ISGID) == shared || fchmod(file, shared) == 0;
  fchmod(file, own);
  return false;
}

// What a stranger has put in the way, in a directory where all may write, leads nowhere.
void refuse_strangers_link(const std::string &path) {
  struct stat status;
  if (lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode) && status.st_uid != 0 && status.st_uid != geteuid())
    throw Error("output directory " + path + " is a link that another user has made");
}

// Makes `path` and what is missing above it. Modes are explicit: the umask may be anything.
bool make_directories(const std::string &path, gid_t group) {
  bool is_given = true;
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    mode_t mode = group == kNoGroup ? 0700 : 0750;
    if (mkdir(part.c_str(), mode) == 0) {
      Descriptor made(open(part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!made) fail("cannot open output directory " + part);
      if (group != kNoGroup) is_given &= give_to_group(made.get(), group, 0700, mode);
      else if (fchmod(made.get(), mode) != 0) fail("cannot set the mode of output directory " + part);
    } else if (int reason = errno; reason != EEXIST && access(part.c_str(), F_OK) != 0) {
      errno = reason;
      fail("cannot make output directory " + part);
    } else {
      refuse_strangers_link(part);
    }
    if (end == std::string::npos) return is_given;
  }
}

// What a predecessor made. Nothing else that has got this name meanwhile may be cut, or shown.
Descriptor open_again(const std::string &path, uint64_t inode, int flags) {
  Descriptor file(open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file) fail("cannot open trace " + path + " again");
  struct stat status;
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_nlink != 1 ||
      status.st_ino != inode)
    throw Error("trace " + path + " is not the file any more that it was");
  return file;
}

// The umask of this process for as long as it lives: what is made gets exactly the mode that is asked for.
class NoUmask {
 public:
  NoUmask() : before_(umask(0)) {}
  ~NoUmask() { umask(before_); }
  NoUmask(const NoUmask &) = delete;
  NoUmask &operator=(const NoUmask &) = delete;

 private:
  mode_t before_;
};

}  // namespace

std::string CommitRecord::serialize() const {
  std::ostringstream text;
  text << "file=" << file << "\ninode " << inode << "\nsizes " << size_before << ' ' << size_after << ' ' << slot_before << ' ' << slot_after
       << ' ' << (is_pending ? 1 : 0) << '\n';
  for (const auto &[name, tail] : tails)
    text << "tail " << name << ' ' << tail.events << ' ' << tail.definitions << ' ' << tail.samples << '\n';
  return text.str() + "end\n";
}

CommitRecord CommitRecord::parse(const std::string &text) {
  CommitRecord record;
  std::istringstream lines(text);
  bool is_whole = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, name;
    int pending = 0;
    RingView::Tails tails;
    if (line.starts_with("file=")) record.file = line.substr(5);
    else if (!(words >> word)) continue;
    else if (word == "inode") words >> record.inode;
    else if (word == "sizes" && words >> record.size_before >> record.size_after >> record.slot_before >> record.slot_after >> pending)
      record.is_pending = pending != 0;
    else if (word == "tail" && words >> name >> tails.events >> tails.definitions >> tails.samples)
      record.tails[name] = tails;
    else if (word == "end") is_whole = true;
  }
  return is_whole ? record : CommitRecord{};
}

void OutputFile::create(const std::string &directory, const std::string &base) {
  gid_t group = group_.empty() ? kNoGroup : find_group(group_);
  NoUmask exact;
  bool is_given = make_directories(directory, group);
  for (int number = 1; number < kMaxSuffix; number++) {
    std::string path = directory + "/" + base + (number == 1 ? "" : "." + std::to_string(number)) + kExtension;
    Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, group == kNoGroup ? 0600 : 0640));
    if (!file && errno == EEXIST) continue;
    if (!file) fail("cannot create a trace in " + directory);
    if (group != kNoGroup) is_given &= give_to_group(file.get(), group, 0600, 0640);
    else if (!group_.empty()) group_trouble_ = "there is no group " + group_ + ": the files are the user's alone";
    if (!is_given)
      group_trouble_ = "the files could not be given to group " + group_ + ": the user is no member, nor does it own the directory";
    struct stat status;
    inode_ = fstat(file.get(), &status) == 0 ? status.st_ino : 0;
    file_ = std::move(file);
    path_ = path;
    size_ = 0;
    is_created_ = true;
    return;
  }
  throw Error("cannot create a trace in " + directory + ": too many files named " + base + ".N.sst");
}

void OutputFile::reopen(const std::string &path, uint64_t inode, uint64_t size) {
  Descriptor file = open_again(path, inode, O_WRONLY);
  if (ftruncate(file.get(), static_cast<off_t>(size)) != 0) fail("cannot cut trace " + path);
  file_ = std::move(file);
  path_ = path;
  inode_ = inode;
  size_ = size;
}

void OutputFile::copy(const std::string &path, uint64_t inode, uint64_t size, const std::string &directory) {
  size_t slash = path.rfind('/');
  struct stat from, to;
  if (stat(path.substr(0, slash + 1).c_str(), &from) == 0 && stat(directory.c_str(), &to) == 0 && from.st_dev == to.st_dev &&
      from.st_ino == to.st_ino)
    return reopen(path, inode, size);
  Descriptor source = open_again(path, inode, O_RDONLY);
  std::string base = path.substr(slash + 1);
  if (base.ends_with(kExtension)) base.resize(base.size() - std::strlen(kExtension));
  create(directory, base);
  try {
    std::vector<char> buffer(1 << 20);
    while (size_ < size) {
      ssize_t count = pread(source.get(), buffer.data(), std::min<uint64_t>(buffer.size(), size - size_), static_cast<off_t>(size_));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("cannot read trace " + path);
      if (count == 0) throw Error("trace " + path + " was cut");
      append(buffer.data(), static_cast<size_t>(count));
      commit();
    }
  } catch (const Error &) {
    remove_created();
    throw;
  }
}

void OutputFile::commit() {
  struct stat status;
  if (fstat(file_.get(), &status) == 0 && status.st_nlink == 0) {
    pending_.clear();
    throw Error("the trace " + path_ + " was deleted while the step ran");
  }
  size_t done = 0;
  while (done < pending_.size()) {
    ssize_t count = pwrite(file_.get(), pending_.data() + done, pending_.size() - done, static_cast<off_t>(size_ + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      int reason = count == 0 ? ENOSPC : errno;
      pending_.clear();
      if (ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) {
        // The partial frame stays; the next commit overwrites it from the same offset.
      }
      errno = reason;
      fail("cannot write to " + path_);
    }
    done += static_cast<size_t>(count);
  }
  size_ += pending_.size();
  pending_.clear();
}

void OutputFile::remove_created() {
  if (!is_created_) return;
  unlink(path_.c_str());
  file_ = Descriptor();
  path_.clear();
  size_ = 0;
  is_created_ = false;
}

void OutputFile::close() {
  if (file_) fsync(file_.get());
  file_ = Descriptor();
}

uint64_t trace_bytes_of(const std::string &directory, const std::string &host) {
  std::unique_ptr<DIR, int (*)(DIR *)> stream(opendir(directory.c_str()), closedir);
  uint64_t bytes = 0;
  while (dirent *entry = stream ? readdir(stream.get()) : nullptr) {
    std::string name = entry->d_name;
    struct stat status;
    if (name.ends_with(".sst") && name.find("." + host + ".") != std::string::npos &&
        fstatat(dirfd(stream.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
      bytes += static_cast<uint64_t>(status.st_size);
  }
  return bytes;
}

}  // namespace slurmscope
