// See spool.h.
#include "profiler/drain/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>
#include <utility>

#include "proto/error.h"

namespace slurmscope {
namespace {
constexpr size_t kMaxTextBytes = 16 * 1024 * 1024;
}

Descriptor &Descriptor::operator=(Descriptor &&other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = other.release();
  }
  return *this;
}
Descriptor::~Descriptor() {
  if (descriptor_ >= 0) close(descriptor_);
}
int Descriptor::release() { return std::exchange(descriptor_, -1); }

Spool::Spool(const std::string &path)
    : path_(path), directory_(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
  if (!directory_) throw Error("spool directory " + path + " cannot be opened: " + std::strerror(errno));
  struct stat status;
  if (fstat(directory_.get(), &status) != 0) throw Error(path + ": " + std::strerror(errno));
  if (status.st_uid != geteuid()) throw Error("spool directory " + path + " belongs to another user");
  if ((status.st_mode & 077) != 0) throw Error("spool directory " + path + " is open to other users (mode must be 0700)");
}

Descriptor Spool::open_file(const std::string &name, int flags) const {
  Descriptor file(openat(directory(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  struct stat status;
  if (file && (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid())) {
    errno = EPERM;
    return Descriptor();
  }
  return file;
}

std::string Spool::read_text(const std::string &name) const {
  std::string text;
  Descriptor file = open_file(name, O_RDONLY);
  if (!file) return text;
  char buffer[65536];
  ssize_t count;
  while (text.size() < kMaxTextBytes && (count = read(file.get(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(count));
  return text;
}

bool Spool::write_text(const std::string &name, const std::string &text) const {
  std::string temporary = name + ".new";
  Descriptor file = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return false;
  for (size_t done = 0; done < text.size();) {
    ssize_t count = write(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return renameat(directory(), temporary.c_str(), directory(), name.c_str()) == 0;
}

bool Spool::exists(const std::string &name) const {
  return faccessat(directory(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

std::optional<std::vector<std::string>> Spool::names() const {
  int copy = openat(directory(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return std::nullopt;
  std::unique_ptr<DIR, int (*)(DIR *)> stream(fdopendir(copy), closedir);
  if (!stream) {
    close(copy);
    return std::nullopt;
  }
  std::vector<std::string> names;
  while (dirent *entry = readdir(stream.get()))
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) names.push_back(entry->d_name);
  return names;
}

void Spool::remove_file(const std::string &name) const { unlinkat(directory(), name.c_str(), 0); }

bool Spool::keep_file(const std::string &name, const std::string &kept) const {
  remove_file(kept);
  return linkat(directory(), name.c_str(), directory(), kept.c_str(), 0) == 0;
}

bool Spool::restore_file(const std::string &kept, const std::string &name) const {
  // Renaming between two names of one file would do nothing and leave both.
  remove_file(name);
  return renameat(directory(), kept.c_str(), directory(), name.c_str()) == 0;
}

void Spool::remove() const {
  for (const std::string &name : names().value_or(std::vector<std::string>())) unlinkat(directory(), name.c_str(), 0);
  rmdir(path_.c_str());
}

std::map<std::string, std::string> Spool::step_info() const {
  std::map<std::string, std::string> info;
  std::istringstream lines(read_text(kStepInfoName));
  for (std::string line; std::getline(lines, line);) {
    size_t equals = line.find('=');
    if (equals != std::string::npos && equals != 0) info[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return info;
}

std::vector<TaskLine> Spool::read_tasks(uint64_t *offset) const {
  std::vector<TaskLine> tasks;
  Descriptor file = open_file(kTasksName, O_RDONLY);
  if (!file) return tasks;
  std::string text(65536, 0);
  for (;;) {
    ssize_t count = pread(file.get(), text.data(), text.size(), static_cast<off_t>(*offset));
    if (count <= 0) return tasks;
    std::string_view rest(text.data(), static_cast<size_t>(count));
    size_t end = rest.rfind('\n');
    if (end == std::string_view::npos) return tasks;
    *offset += end + 1;
    std::istringstream lines{std::string(rest.substr(0, end + 1))};
    for (std::string line; std::getline(lines, line);) {
      TaskLine task{};
      if (sscanf(line.c_str(), "task=%u pid=%u status=%d", &task.task, &task.pid, &task.status) == 3)
        tasks.push_back(task);
    }
  }
}

}  // namespace slurmscope
