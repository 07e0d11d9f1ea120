// `slurmscope`: parses the command line, runs one command, turns exceptions into one line and a code.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "config.h"
#include "proto/version.h"
#include "tools/commands.h"

namespace {

std::string version_text() {
  return "slurmscope " PACKAGE_VERSION " (trace format " + std::to_string(slurmscope::kFormatMajor) + "." +
         std::to_string(slurmscope::kFormatMinor) + ")";
}

/// CLI11 would only say that a sub-command is required.
void check_command(const std::string &word) {
  std::string known;
  for (const slurmscope::Command &command : slurmscope::commands()) {
    if (word == command.name) return;
    known += std::string(known.empty() ? "" : ", ") + command.name;
  }
  throw slurmscope::UsageError("no command '" + word + "'; there are: " + known);
}

int run(int argc, char **argv) {
  if (argc > 1 && argv[1][0] != '-') check_command(argv[1]);
  CLI::App app{"Slurmscope shows where a Slurm job's time goes, per rank, and why the same job is slower elsewhere."};
  app.name("slurmscope");
  app.set_version_flag("-V,--version", version_text());
  app.require_subcommand(1);
  app.footer("'slurmscope COMMAND --help' explains a command; so does 'man slurmscope-COMMAND'.");
  int code = slurmscope::kExitOk;
  for (const slurmscope::Command &command : slurmscope::commands()) {
    CLI::App *sub = app.add_subcommand(command.name, command.help);
    // `final_callback` runs once, after the whole line was parsed without an error.
    sub->final_callback([&code, body = command.prepare(sub)] { code = body(); });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError &error) {
    std::fprintf(stderr, "slurmscope: %s\nTry 'slurmscope --help'.\n", error.what());
    return slurmscope::kExitUsage;
  }
  return code;
}

}  // namespace

int main(int argc, char **argv) {
  // elfutils would ask servers for the debug information of every object, and a report would wait for them.
  unsetenv("DEBUGINFOD_URLS");
  try {
    return run(argc, argv);
  } catch (const slurmscope::UsageError &error) {
    std::fprintf(stderr, "slurmscope: %s\n", error.what());
    return slurmscope::kExitUsage;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "slurmscope: %s\n", error.what());
    // A comparison tells "slower" with 1; there a failure is 2.
    bool comparing = argc > 1 && std::string(argv[1]) == "compare";
    return comparing ? slurmscope::kExitUsage : slurmscope::kExitFailed;
  }
}
