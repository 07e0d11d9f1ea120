// The recording's spool directory and drainer; see recording.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "proto/error.h"
#include "tools/record/drainer_program.h"
#include "tools/record/recording.h"

namespace slurmscope {
namespace fs = std::filesystem;
namespace {

constexpr int kFinishSeconds = 60;
// File systems on which rings, which are mapped and polled, must not lie: NFS, SMB, AFS, Ceph, Lustre,
// GPFS, FUSE, BeeGFS, 9p, PanFS.
constexpr unsigned kNetworkFilesystems[] = {0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x00c36400, 0x0bd00bd0,
                                            0x47504653, 0x65735546, 0x19830326, 0x01021997, 0xaad7aaea};

bool is_local_directory(const std::string &path) {
  struct statfs info;
  if (statfs(path.c_str(), &info) != 0 || access(path.c_str(), W_OK | X_OK) != 0) return false;
  for (unsigned magic : kNetworkFilesystems)
    if (static_cast<unsigned>(info.f_type) == magic) return false;
  return true;
}

/// Free space below which another place is looked for: a container's /dev/shm is MPI's own before it is ours.
constexpr uint64_t kRoomyBytes = 128 << 20;

bool is_roomy(const std::string &path) {
  struct statfs info;
  return statfs(path.c_str(), &info) == 0 && static_cast<uint64_t>(info.f_bavail) * static_cast<uint64_t>(info.f_bsize) >= kRoomyBytes;
}

/// Makes a new directory of this user in `base`; never uses one that exists. Empty, with errno: it cannot be.
std::string make_spool_in(const std::string &base) {
  for (int suffix = 0; suffix < 100; ++suffix) {
    std::string path = fmt::format("{}/slurmscope-{}-local.{}{}", base, getuid(), getpid(), suffix ? fmt::format("-{}", suffix) : "");
    if (mkdir(path.c_str(), 0700) == 0) {
      chmod(path.c_str(), 0700);  // a umask may have taken our own rights, too
      return path;
    }
    if (errno != EEXIST) break;
  }
  return "";
}

/// The first place that is local, writable and roomy; if there is none, the first that is local and writable.
std::string make_spool() {
  const char *temporary = std::getenv("TMPDIR");
  std::string tried;
  for (bool must_be_roomy : {true, false}) {
    tried.clear();
    for (const std::string &base : {std::string("/dev/shm"), std::string(temporary ? temporary : ""), std::string("/tmp")}) {
      if (base.empty() || (must_be_roomy && !is_roomy(base))) continue;
      std::string path, trouble;
      if (is_local_directory(base)) {
        path = make_spool_in(base);
        trouble = fmt::format(" ({})", std::strerror(errno));
      }
      if (!path.empty()) return path;
      tried += (tried.empty() ? "" : ", ") + base + trouble;
    }
  }
  throw Error(fmt::format("no place for the spool directory (it must be local and writable): tried {}", tried));
}

/// A value in step.info is one line.
std::string one_line(std::string text) {
  for (char &c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text;
}

/// Whether a directory can be made at `path`, or a file in it if it is there: tried, as permissions do not tell on
/// /proc, for example. What is made is removed at once. Returns an errno, or 0.
int try_output(const fs::path &path) {
  fs::path existing = path, missing = path;
  while (!fs::exists(existing) && existing.has_parent_path() && existing != existing.parent_path()) {
    missing = existing;
    existing = existing.parent_path();
  }
  std::string name = existing == path ? (path / fmt::format(".slurmscope-{}", getpid())).string() : missing.string();
  if (!fs::is_directory(existing)) return ENOTDIR;
  if (mkdir(name.c_str(), 0700) != 0) return errno == EEXIST ? 0 : errno;
  rmdir(name.c_str());
  return 0;
}

}  // namespace

Recording::Recording(const Request &request) : library_directory_(find_library_directory()), settings_(request.settings) {
  if (library_directory_.find_first_of(kPreloadSeparators) != std::string::npos)
    throw Error(fmt::format("LD_PRELOAD takes no path with a blank or a colon, such as {}; set SLURMSCOPE_LIBDIR to a link to it", library_directory_));
  if (int error = try_output(request.output))
    throw Error(fmt::format("the output directory {} cannot be written: {}", request.output, std::strerror(error)));
  spool_ = make_spool();
  try {
    write_step_info(request);
    int code = run_drainer(library_directory_, {"--spool", spool_});
    if (code != 0) throw Error(fmt::format("the drainer did not start (exit code {})", code));
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(spool_, ignored);
    throw;
  }
}

Recording::~Recording() {
  if (finished_ || spool_.empty()) return;
  try {
    finish();
  } catch (...) {  // a destructor during another failure: that one is told
  }
}

void Recording::write_step_info(const Request &request) const {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::string short_host(host, strcspn(host, "."));
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::string command;
  for (const std::string &word : request.command) command += (command.empty() ? "" : " ") + word;
  const char *user = std::getenv("USER");
  std::string text;
  auto add = [&](const char *key, const std::string &value) {
    if (!value.empty()) text += fmt::format("{}={}\n", key, one_line(value));
  };
  add("starter", "record");
  add("step", "local");
  add("starter_pid", fmt::format("{}", getpid()));
  add("uid", fmt::format("{}", getuid()));
  add("user", user ? user : "");
  add("host", short_host);
  add("nodes", "1");
  add("node_id", "0");
  add("output", request.output);
  add("file", "local." + short_host);
  add("settings", request.settings);
  add("command", command);
  std::error_code error;
  add("submit_dir", fs::current_path(error).string());
  add("start_realtime_ns", fmt::format("{}", now.tv_sec * 1000000000LL + now.tv_nsec));

  std::string path = spool_ + "/step.info";
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) throw Error(fmt::format("couldn't create {}: {}", path, std::strerror(errno)));
  fchmod(fd, 0600);
  ssize_t written = ::write(fd, text.data(), text.size());
  int saved = errno;
  ::close(fd);
  if (written != static_cast<ssize_t>(text.size()))
    throw Error(fmt::format("couldn't write {}: {}", path, written < 0 ? std::strerror(saved) : "the file system is full"));
}

void Recording::set_environment() const {
  std::string preload = library_directory_ + "/" + kPreload;
  // The user's own entries stay, after ours; a recording inside a recording must not list us twice.
  if (const char *before = std::getenv("LD_PRELOAD")) {
    std::string rest = before;
    for (size_t at = 0; at < rest.size();) {
      size_t end = rest.find_first_of(": ", at);
      std::string entry = rest.substr(at, end == std::string::npos ? end : end - at);
      if (!entry.empty() && fs::path(entry).filename() != kPreload) preload += ":" + entry;
      if (end == std::string::npos) break;
      at = end + 1;
    }
  }
  setenv("LD_PRELOAD", preload.c_str(), 1);
  setenv("SLURMSCOPE", settings_.c_str(), 1);
  setenv("SLURMSCOPE_SPOOL", spool_.c_str(), 1);
}

void Recording::note_end(pid_t pid, int wait_status) {
  std::string line = fmt::format("task=0 pid={} status={}\n", pid, wait_status);
  std::string path = spool_ + "/tasks";
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;  // the drainer then says that it does not know how the command ended
  fchmod(fd, 0600);
  if (::write(fd, line.data(), line.size()) < 0) { /* as above */ }
  ::close(fd);
}

bool Recording::finish() {
  finished_ = true;
  int code = run_drainer(library_directory_, {"--finish", spool_, "--timeout", fmt::format("{}", kFinishSeconds)});
  return code == 0;
}

}  // namespace slurmscope
