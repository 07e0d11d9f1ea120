// `slurmscope verify`: one line per file on stdout; what is wrong in detail on stderr.
#include <fmt/format.h>

#include <memory>

#include "tools/commands.h"
#include "tools/export/exporters.h"
#include "tools/model/load_run.h"
#include "tools/model/verify_file.h"

namespace slurmscope {
namespace {

std::string line_of(const FileCheck &check) {
  std::string facts = fmt::format("{} frames, {} packets, {} events, {} processes", check.frames, check.packets, check.rows,
                                  check.processes);
  if (!check.good()) return fmt::format("{}: BAD: {} ({} before it)", printable(check.path), printable(check.problems.front()), facts);
  std::string summary = check.recomputed ? "summary equals events" : "summary not recomputed: " + check.not_recomputed;
  std::string end = check.clean_end ? "" : ", unclean end";
  return fmt::format("{}: ok, {}; {}{}{}", printable(check.path), facts, summary, end, check.has_index ? "" : ", no index");
}

bool verify(const std::string &path) {
  FileCheck check;
  try {
    check = verify_file(path);
  } catch (const Error &error) {
    std::string reason = error.what();
    if (reason.rfind(path + ": ", 0) == 0) reason.erase(0, path.size() + 2);  // the line starts with it anyway
    print(fmt::format("{}: BAD: {}\n", printable(path), printable(reason)));
    return false;
  }
  print(line_of(check) + "\n");
  for (size_t i = 1; i < check.problems.size(); ++i)
    fmt::print(stderr, "slurmscope: {}: {}\n", printable(path), printable(check.problems[i]));
  return check.good();
}

}  // namespace

CommandBody prepare_verify(CLI::App *app) {
  auto names = std::make_shared<std::vector<std::string>>();
  app->add_option("FILE", *names, "trace files, run folders or Slurm job ids")->required();
  return [names] {
    bool good = true;
    for (const std::string &run : find_runs(*names))
      for (const std::string &file : trace_files(run)) good = verify(file) && good;
    return good ? kExitOk : kExitFailed;
  };
}

}  // namespace slurmscope
