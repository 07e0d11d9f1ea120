// The commands of `slurmscope`: one file each, one line in the list of commands.cc.
//
// Called by main. A command adds its options to a CLI11 sub-command and returns what to run once they are
// parsed. Commands throw Error for everything that fails and UsageError for what the user said wrong;
// both are caught in main.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "proto/error.h"

namespace slurmscope {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

/// The command line itself is wrong; exit 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

using CommandBody = std::function<int()>;

struct Command {
  const char *name;
  const char *help;
  /// Adds options to `app` and returns the body; the body runs after parsing and gives the exit code.
  CommandBody (*prepare)(CLI::App *app);
};

/// All commands, in the order of the help.
const std::vector<Command> &commands();

CommandBody prepare_record(CLI::App *app);
CommandBody prepare_report(CLI::App *app);
CommandBody prepare_compare(CLI::App *app);
CommandBody prepare_dump(CLI::App *app);
CommandBody prepare_verify(CLI::App *app);
CommandBody prepare_salvage(CLI::App *app);

/// Prints to stdout; throws Error if it cannot be written (a full disk must not look like success).
void print(const std::string &text);
/// Writes a file, or stdout for "-". Refuses to replace an existing file unless `force`.
void write_output(const std::string &path, const std::string &text, bool force);

/// `--json` alone prints to stdout; `--json=FILE`, or a last argument that ends in .json, names a file.
/// (`--json FILE` cannot take the next word blindly: it may be the run.)
struct JsonOption {
  std::string target;  // "" = not asked for, "-" = stdout
  void add(CLI::App *app);
  /// Takes a trailing *.json out of `names` when --json came without a file.
  void settle(std::vector<std::string> *names);
};

}  // namespace slurmscope
