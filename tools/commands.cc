// The list of commands and what they share; see commands.h.
#include "tools/commands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace slurmscope {

const std::vector<Command> &commands() {
  static const std::vector<Command> list{
      {"record", "run a command and record it (without Slurm)", prepare_record},
      {"report", "show one run: where its time went, per rank", prepare_report},
      {"compare", "tell whether one set of runs is slower than another, and in what", prepare_compare},
      {"dump", "print the packets or events of a trace", prepare_dump},
      {"verify", "check trace files", prepare_verify},
      {"salvage", "write what a drainer that died left behind", prepare_salvage},
  };
  return list;
}

void print(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error(fmt::format("couldn't write to standard output: {}", std::strerror(errno)));
}

void write_output(const std::string &path, const std::string &text, bool force) {
  if (path == "-") {
    print(text);
    return;
  }
  int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL);
  int fd = ::open(path.c_str(), flags, 0666);
  if (fd < 0) {
    if (errno == EEXIST) throw Error(fmt::format("{} exists; use --force-output to replace it", path));
    throw Error(fmt::format("couldn't create {}: {}", path, std::strerror(errno)));
  }
  size_t done = 0;
  while (done < text.size()) {
    ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      std::string reason = std::strerror(errno);
      ::close(fd);
      throw Error(fmt::format("couldn't write {}: {}", path, reason));
    }
    done += static_cast<size_t>(n);
  }
  if (::close(fd) != 0) throw Error(fmt::format("couldn't write {}: {}", path, std::strerror(errno)));
}

void JsonOption::add(CLI::App *app) {
  app->add_flag("--json{-}", target, "print JSON instead of text; --json=FILE writes it to FILE");
}

void JsonOption::settle(std::vector<std::string> *names) {
  if (target != "-" || names->empty()) return;
  const std::string &last = names->back();
  if (last.size() > 5 && last.compare(last.size() - 5, 5, ".json") == 0 && !std::filesystem::is_directory(last)) {
    target = last;
    names->pop_back();
  }
}

}  // namespace slurmscope
