// See output_file.h.
#include "profiler/drain/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

#include "proto/error.h"

namespace slurmscope {
namespace {

constexpr int kMaxSuffix = 1000;
constexpr const char kExtension[] = ".sst";

[[noreturn]] void fail(const std::string &what) { throw Error(what + ": " + std::strerror(errno)); }

// Makes `path` and what is missing above it. Modes are set explicitly: the umask may be anything.
void make_directories(const std::string &path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) == 0) {
      if (chmod(part.c_str(), 0700) != 0) fail("cannot set the mode of output directory " + part);
    } else if (errno != EEXIST && access(part.c_str(), F_OK) != 0) {
      fail("cannot make output directory " + part);
    }
    if (end == std::string::npos) return;
  }
}

}  // namespace

std::string CommitRecord::serialize() const {
  std::ostringstream text;
  text << "file=" << file << "\nsizes " << size_before << ' ' << size_after << ' ' << slot_before << ' ' << slot_after
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
    else if (word == "sizes" && words >> record.size_before >> record.size_after >> record.slot_before >> record.slot_after >> pending)
      record.is_pending = pending != 0;
    else if (word == "tail" && words >> name >> tails.events >> tails.definitions >> tails.samples)
      record.tails[name] = tails;
    else if (word == "end") is_whole = true;
  }
  return is_whole ? record : CommitRecord{};
}

void OutputFile::create(const std::string &directory, const std::string &base) {
  make_directories(directory);
  for (int number = 1; number < kMaxSuffix; number++) {
    std::string path = directory + "/" + base + (number == 1 ? "" : "." + std::to_string(number)) + kExtension;
    Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file && errno == EEXIST) continue;
    if (!file) fail("cannot create a trace in " + directory);
    fchmod(file.get(), 0600);
    file_ = std::move(file);
    path_ = path;
    size_ = 0;
    is_created_ = true;
    return;
  }
  throw Error("cannot create a trace in " + directory + ": too many files named " + base + ".N.sst");
}

void OutputFile::reopen(const std::string &path, uint64_t size) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) fail("cannot open trace " + path + " again");
  if (ftruncate(file.get(), static_cast<off_t>(size)) != 0) fail("cannot cut trace " + path);
  file_ = std::move(file);
  path_ = path;
  size_ = size;
}

void OutputFile::copy(const std::string &path, uint64_t size, const std::string &directory) {
  size_t slash = path.rfind('/');
  struct stat from, to;
  if (stat(path.substr(0, slash + 1).c_str(), &from) == 0 && stat(directory.c_str(), &to) == 0 && from.st_dev == to.st_dev &&
      from.st_ino == to.st_ino)
    return reopen(path, size);
  Descriptor source(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!source) fail("cannot open trace " + path + " again");
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

}  // namespace slurmscope
