// See drainer_program.h.
#include "tools/record/drainer_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "proto/error.h"

extern char **environ;

namespace slurmscope {
namespace fs = std::filesystem;
namespace {

constexpr unsigned kDeathSeconds = 2;  // after which a killed process is thought to be stuck

/// Reads until all writers are gone. False if that is not within `seconds`.
bool read_to_end(int pipe, unsigned seconds, std::string *text) {
  auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd wait{pipe, POLLIN, 0};
    int ready = left <= 0 ? 0 : poll(&wait, 1, static_cast<int>(left) + 1);
    if (ready == 0) return false;
    char buffer[4096];
    ssize_t count = ready < 0 ? -1 : read(pipe, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    text->append(buffer, static_cast<size_t>(count));
  }
}

}  // namespace

std::string find_library_directory() {
  std::vector<std::string> places;
  if (const char *directory = std::getenv("SLURMSCOPE_LIBDIR")) {
    places.push_back(directory);
  } else {
    std::error_code error;
    fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error) places.push_back((program.parent_path().parent_path() / "lib" / "slurmscope").string());
    places.push_back(SLURMSCOPE_PKGLIBDIR);
  }
  std::string tried;
  for (const std::string &place : places) {
    std::string library = place + "/" + kPreload, drainer = place + "/" + kDrainer;
    if (access(library.c_str(), R_OK) == 0 && access(drainer.c_str(), X_OK) == 0) {
      std::string path = fs::canonical(place).string();
      // A link to a path that LD_PRELOAD cannot name serves.
      return path.find_first_of(kPreloadSeparators) == std::string::npos ? path : fs::absolute(place).lexically_normal().string();
    }
    tried += (tried.empty() ? "" : ", ") + place;
  }
  throw Error(fmt::format("{} and {} not found in {}; set SLURMSCOPE_LIBDIR to where they are", kPreload, kDrainer, tried));
}

int run_drainer(const std::string &library_directory, std::vector<std::string> arguments, std::string *said, unsigned timeout) {
  std::string program = library_directory + "/" + kDrainer;
  arguments.insert(arguments.begin(), program);
  std::vector<char *> argv;
  for (std::string &argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int ends[2] = {-1, -1};
  if (said && pipe2(ends, O_CLOEXEC) != 0) throw Error(fmt::format("couldn't make a pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // The command's own standard input and output are not the drainer's.
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (said) posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  else posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, 2, 2);  // open in the drainer also if it is only our stand-in
  pid_t pid = 0;
  int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (said) {
    close(ends[1]);
    bool is_late = error == 0 && !read_to_end(ends[0], timeout, said);
    bool is_stuck = false;
    if (is_late) {
      kill(pid, SIGKILL);
      is_stuck = !read_to_end(ends[0], kDeathSeconds, said);  // in the kernel: it dies when that lets it
      if (!is_stuck) waitpid(pid, nullptr, 0);
    }
    close(ends[0]);
    if (is_late)
      throw Error(fmt::format("{} was not done after {} s and was killed{}", fmt::join(arguments, " "), timeout,
                              is_stuck ? fmt::format(" (a file system holds process {})", pid) : ""));
  }
  if (error != 0) throw Error(fmt::format("couldn't start {}: {}", program, std::strerror(error)));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace slurmscope
