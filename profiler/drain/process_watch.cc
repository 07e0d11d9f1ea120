// See process_watch.h.
#include "profiler/drain/process_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>

namespace slurmscope {
namespace {

// linux/pidfd.h of kernels that have them; Debian 12's headers do not.
struct PidfdInfo {
  uint64_t mask, cgroup;
  uint32_t pid, tgid, parent, ids[8];
  int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long kPidfdGetInfo = _IOWR(0xFF, 11, PidfdInfo);
constexpr uint64_t kPidfdInfoExit = 1 << 3;

std::string read_stat(uint32_t pid) {
  std::string path = "/proc/" + std::to_string(pid) + "/stat";
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[2048];
  ssize_t size = file ? read(file.get(), text, sizeof text) : -1;
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : "";
}

/// Whether we live in the namespace `kind` with inode `inode`, as far as can be told.
bool is_own_namespace(const char *kind, uint64_t inode) {
  struct stat status;
  return inode == 0 || stat((std::string("/proc/self/ns/") + kind).c_str(), &status) != 0 || status.st_ino == inode;
}

}  // namespace

std::string process_stat_field(uint32_t pid, int number) {
  std::string text = read_stat(pid);
  size_t at = text.rfind(')');  // the name before it may hold anything
  if (at == std::string::npos) return "";
  std::istringstream fields(text.substr(at + 1));
  std::string field;
  for (int i = 3; i <= number; i++)
    if (!(fields >> field)) return "";
  return field;
}

uint64_t process_start_time(uint32_t pid) { return std::strtoull(process_stat_field(pid, 22).c_str(), nullptr, 10); }

ProcessWatch::ProcessWatch(uint32_t pid, uint64_t start_time, uint64_t pid_namespace, uint64_t time_namespace)
    : pid_(pid), start_time_(start_time) {
  is_visible_ = is_own_namespace("pid", pid_namespace);
  if (!is_visible_) return;
  pidfd_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
  uint64_t now = process_start_time(pid);
  if (!is_own_namespace("time", time_namespace)) start_time_ = start_time = now;
  if (now == 0 || (start_time != 0 && now != start_time)) {
    is_gone_ = true;  // the number is free, or somebody else's
    pidfd_ = Descriptor();
  }
}

bool ProcessWatch::is_alive() {
  if (!is_visible_) return true;
  if (is_gone_) return false;
  if (!pidfd_) return true;
  pollfd wait{pidfd_.get(), POLLIN, 0};
  is_gone_ = poll(&wait, 1, 0) > 0;
  return !is_gone_;
}

std::optional<int32_t> ProcessWatch::wait_status(std::string *source) const {
  if (!pidfd_) return std::nullopt;
  PidfdInfo info{};
  info.mask = kPidfdInfoExit;
  if (ioctl(pidfd_.get(), kPidfdGetInfo, &info) == 0 && (info.mask & kPidfdInfoExit) != 0) {
    *source = "pidfd";
    return info.exit_code;
  }
  if (process_stat_field(pid_, 3) != "Z") return std::nullopt;
  std::string status = process_stat_field(pid_, 52);
  if (status.empty() || process_start_time(pid_) != start_time_) return std::nullopt;
  *source = "proc";
  return static_cast<int32_t>(std::strtol(status.c_str(), nullptr, 10));
}

}  // namespace slurmscope
