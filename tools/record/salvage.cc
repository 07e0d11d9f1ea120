// See salvage.h.
#include "tools/record/salvage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "proto/error.h"
#include "tools/record/drainer_program.h"

namespace slurmscope {
namespace fs = std::filesystem;
namespace {

constexpr const char *kSpoolPrefix = "slurmscope-";  // what plugin and recorder call their spools

bool may_touch(const struct stat &status) { return geteuid() == 0 || status.st_uid == geteuid(); }

bool has_step_info(const std::string &path) {
  struct stat status;
  return lstat((path + "/step.info").c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// In the child: the owner's user, groups and nothing of ours. Called between fork and the work.
void become(const SpoolPlace &place) {
  const passwd *user = getpwuid(place.owner);
  gid_t group = user ? user->pw_gid : place.group;
  int groups = user ? initgroups(user->pw_name, group) : setgroups(0, nullptr);
  if (groups != 0 || setresgid(group, group, group) != 0 || setresuid(place.owner, place.owner, place.owner) != 0)
    throw Error(fmt::format("couldn't become user {}, whose spool {} is: {}", place.owner, place.path, std::strerror(errno)));
  // The user may look into the drainer: no descriptor, variable or terminal of root's is in its reach.
  setsid();
  close_range(3, ~0u, 0);
  clearenv();
  setenv("PATH", "/usr/bin:/bin", 1);
}

}  // namespace

std::vector<SpoolPlace> find_spools(const std::string &name, size_t *others) {
  std::error_code error;
  fs::path folder = fs::canonical(name, error);
  struct stat status;
  if (error || stat(folder.c_str(), &status) != 0) throw Error(fmt::format("{}: {}", name, error ? error.message() : std::strerror(errno)));
  if (!S_ISDIR(status.st_mode)) throw Error(fmt::format("{} is not a directory", name));
  if (!may_touch(status) && (access(folder.c_str(), R_OK | X_OK) != 0 || has_step_info(folder.string())))
    throw Error(fmt::format("{} belongs to another user; run this as that user, or as root", name));
  if (has_step_info(folder.string())) return {{folder.string(), status.st_uid, status.st_gid}};
  std::vector<SpoolPlace> places;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::string path = entry->path().string();
    // Not through links: the plugin's aliases are some, and anybody can plant one.
    if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    if (!may_touch(status)) *others += entry->path().filename().string().starts_with(kSpoolPrefix);
    else if (has_step_info(path)) places.push_back({path, status.st_uid, status.st_gid});
  }
  if (error) throw Error(fmt::format("couldn't read {}: {}", name, error.message()));
  if (places.empty())
    throw Error(fmt::format("no spool in {}: neither it nor a directory in it has a step.info{}", name,
                            *others == 0 ? "" : fmt::format(" that this user may read ({} of other users)", *others)));
  std::sort(places.begin(), places.end(), [](const SpoolPlace &a, const SpoolPlace &b) { return a.path < b.path; });
  return places;
}

SalvagedSpool run_salvage(const std::string &library_directory, const std::string &spool, const std::string &output, bool removes,
                          unsigned timeout) {
  std::vector<std::string> arguments{"--salvage", spool};
  if (!output.empty()) arguments.insert(arguments.end(), {"--output", output});
  if (removes) arguments.push_back("--remove");
  std::string said;
  int code = run_drainer(library_directory, arguments, &said, timeout);
  SalvagedSpool salvaged;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    size_t equals = std::min(line.find('='), line.size() - 1);
    std::string key = line.substr(0, equals), value = line.substr(equals + 1);
    if (key == "trace") salvaged.trace = value;
    else if (key == "loss") salvaged.loss = value;
    else if (key == "running") salvaged.running.push_back(value);
    salvaged.is_old |= key == "old";
    salvaged.is_removed |= key == "removed";
  }
  if (code != 0 && salvaged.loss.empty()) throw Error(fmt::format("{} was not salvaged (see above)", spool));
  return salvaged;
}

int run_as_owner(const SpoolPlace &place, const std::function<int()> &work) {
  if (geteuid() != 0 || place.owner == 0) return work();
  std::fflush(nullptr);
  pid_t pid = fork();
  if (pid < 0) throw Error(fmt::format("couldn't make a process: {}", std::strerror(errno)));
  if (pid == 0) {
    int code = 1;
    try {
      become(place);
      code = work();
    } catch (const std::exception &error) {
      fmt::print(stderr, "slurmscope: {}\n", error.what());
    }
    std::fflush(nullptr);
    _exit(code);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace slurmscope
