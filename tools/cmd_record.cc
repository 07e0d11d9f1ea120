// `slurmscope record`: runs a command with the preload and keeps its run folder; ends exactly as the
// command ended. Nothing on stdout; one line on stderr.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>

#include "proto/settings.h"
#include "tools/commands.h"
#include "tools/export/exporters.h"
#include "tools/model/load_run.h"
#include "tools/record/recording.h"

namespace slurmscope {
namespace fs = std::filesystem;
namespace {

std::string canonical_settings(const std::string &mode, const std::string &words) {
  std::string text = mode + (words.empty() ? "" : "," + words);
  auto settings = std::make_unique<Settings>();
  char error[512] = "";
  if (!parse_settings(text.c_str(), settings.get(), error, sizeof error)) throw UsageError(error);
  if (settings->output[0] != '\0') throw UsageError("record: output= is for Slurm's jobs; name the run folder with --output DIR");
  std::string canonical(16 * Settings::kTextSize, '\0');
  if (!format_settings(*settings, canonical.data(), canonical.size())) throw UsageError("the settings are too long");
  canonical.resize(canonical.find('\0'));
  return canonical;
}

/// "slurmscope-<name>-<date>-<number>"; the name is the program's, of harmless characters only. The number is random:
/// containers that begin in one second have the same process ids, and nodes may share the folder.
std::string default_output(const std::string &program) {
  std::string name;
  for (char c : fs::path(program).filename().string().substr(0, 40)) {
    bool harmless = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    name += harmless ? c : '_';
  }
  time_t now = time(nullptr);
  tm parts{};
  char date[32] = "";
  localtime_r(&now, &parts);
  strftime(date, sizeof date, "%Y%m%d-%H%M%S", &parts);
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) number = static_cast<uint32_t>(getpid());
  return fmt::format("slurmscope-{}-{}-{}", name.empty() ? "run" : name, date, number);
}

void check_output(const fs::path &output, bool force) {
  std::error_code error;
  if (!fs::exists(output, error)) return;
  if (!fs::is_directory(output, error)) throw UsageError(fmt::format("{} is not a directory", output.string()));
  if (!force && !trace_files(output.string()).empty())
    throw UsageError(fmt::format("{} holds a run already; name another folder, or --force to add to it", output.string()));
}

/// Ends as the command ended, so that a caller cannot tell the difference.
int end_like(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return WEXITSTATUS(wait_status);
  int number = WTERMSIG(wait_status);
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);  // the command has left its own core file
  signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  raise(number);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  return 128 + number;  // a signal that does not end a process
}

/// Whoever closed our standard input, output or error must not have a file of ours opened under that number.
/// The command finds it closed as we did.
void fill_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR | O_CLOEXEC);  // the lowest free number is this one
}

/// One line on stderr. That it cannot be written (a full disk, a limit on file sizes) changes nothing for the
/// command, whose exit code is ours.
void say(const std::string &line) { fputs(("slurmscope: " + line + "\n").c_str(), stderr); }

int record(const std::vector<std::string> &command, const std::string &settings, const fs::path &output) {
  fill_standard_descriptors();
  // A limit on file sizes is for the command to die of; for us it is an error like others. While the command runs
  // and afterwards the signal is blocked (run_command).
  auto file_size_action = signal(SIGXFSZ, SIG_IGN);
  std::optional<Recording> recording;
  try {
    if (settings != "off") recording.emplace(Recording::Request{settings, output.string(), command});
  } catch (const std::exception &error) {
    say(fmt::format("{}; the command runs unprofiled", error.what()));
  }
  signal(SIGXFSZ, file_size_action);
  ChildResult child = run_command(command, recording ? &*recording : nullptr);
  if (recording) {
    recording->note_end(child.pid, child.wait_status);
    bool whole = false;
    try {
      whole = recording->finish();
    } catch (const std::exception &error) {
      say(error.what());
    }
    std::string name = printable(output.lexically_relative(fs::current_path()).string());
    if (name.rfind("..", 0) == 0 || name.empty()) name = printable(output.string());
    if (!trace_files(output.string()).empty())
      say(fmt::format("run in {}{}; see: slurmscope report {}", name, whole ? "" : " (incomplete)", name));
    else if (whole)
      say("nothing was recorded: no process that could be seen made an MPI call or much I/O "
          "(with SLURMSCOPE_VERBOSE=1 each process says what it could not do)");
    // Else the drainer has said what was lost.
  }
  return end_like(child.wait_status);
}

}  // namespace

CommandBody prepare_record(CLI::App *app) {
  struct Options {
    std::string mode = "trace", settings, output;
    std::vector<std::string> command;
    bool force = false;
  };
  auto options = std::make_shared<Options>();
  app->add_option("--mode", options->mode, "summary (sums only) or trace (every event)")
      ->check(CLI::IsMember({"summary", "trace", "off"}))->capture_default_str();
  app->add_option("--settings", options->settings, "further settings, e.g. sample=99,counters=PAPI_TOT_INS");
  app->add_option("-o,--output", options->output, "run folder (default: ./slurmscope-<program>-<date>-<number>)");
  app->add_flag("--force", options->force, "add to a folder that holds a run already");
  app->footer("Put -- before the command: slurmscope record [OPTIONS] -- COMMAND [ARGUMENTS...]");
  // A positional option, not CLI11's prefix_command: that hands what follows "--" to the main program.
  app->add_option("COMMAND", options->command, "the command and its arguments, after --");
  return [options] {
    const std::vector<std::string> &command = options->command;
    if (command.empty()) throw UsageError("record: no command; usage: slurmscope record [OPTIONS] -- COMMAND [ARGUMENTS...]");
    std::string settings = canonical_settings(options->mode, options->settings);
    fs::path output = options->output.empty() ? default_output(command[0]) : options->output;
    check_output(output, options->force);
    return record(command, settings, fs::absolute(output).lexically_normal());
  };
}

}  // namespace slurmscope
