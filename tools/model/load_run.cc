// See load_run.h.
#include "tools/model/load_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

#include "proto/error.h"
#include "proto/settings.h"
#include "tools/model/read_events.h"

namespace slurmscope {
namespace fs = std::filesystem;
namespace {

bool is_trace_name(const fs::path &path) { return path.extension() == ".sst"; }

/// Sub-directories of `directory` that hold trace files, sorted by name.
std::vector<fs::path> run_folders(const fs::path &directory) {
  std::vector<fs::path> result;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(directory, error))
    if (entry.is_directory(error) && !trace_files(entry.path().string()).empty()) result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}

std::string newest_run() {
  fs::path newest;
  fs::file_time_type newest_time = fs::file_time_type::min();
  for (const fs::path &folder : run_folders(".")) {
    if (folder.filename().string().rfind("slurmscope-", 0) != 0) continue;
    fs::file_time_type time = fs::file_time_type::min();  // the clock's own epoch lies in the future
    std::error_code error;
    for (const std::string &file : trace_files(folder.string())) time = std::max(time, fs::last_write_time(file, error));
    if (newest.empty() || time > newest_time) {
      newest = folder;
      newest_time = time;
    }
  }
  if (newest.empty())
    throw Error("no run folder (slurmscope-*/ with .sst files) in the current directory; name a run folder, a file "
                "or a Slurm job id");
  return newest.lexically_normal().string();
}

bool is_job_id(const std::string &name) {
  if (name.empty() || name.find_first_not_of("0123456789_") != std::string::npos) return false;
  return name[0] != '_';
}

/// Directories in which a job's folder may lie: here, where the user's settings send it.
std::vector<fs::path> output_directories() {
  std::vector<fs::path> result{"."};
  if (const char *text = std::getenv("SLURMSCOPE")) {
    auto settings = std::make_unique<Settings>();
    char ignored[256];
    parse_settings(text, settings.get(), ignored, sizeof ignored);
    if (settings->output[0] != 0) result.emplace_back(settings->output);
  }
  if (const char *directory = std::getenv("SLURM_SUBMIT_DIR")) result.emplace_back(directory);
  return result;
}

std::string folder_of_job(const std::string &id) {
  std::string looked;
  for (const fs::path &directory : output_directories()) {
    std::string text = directory.string();
    bool has_id = false;
    for (size_t at; (at = text.find("%j")) != std::string::npos; has_id = true) text.replace(at, 2, id);
    for (const fs::path &candidate : {fs::path(text) / ("slurmscope-" + id), fs::path(text)}) {
      if (candidate == fs::path(text) && !has_id) continue;
      if (!trace_files(candidate.string()).empty()) return candidate.lexically_normal().string();
      looked += (looked.empty() ? "" : ", ") + candidate.lexically_normal().string();
    }
  }
  throw Error(fmt::format("no trace of job {}: looked in {}; name the run folder (slurmscope-{}/ in the job's working "
                          "directory unless the site says otherwise)", id, looked, id));
}

std::string resolve(const std::string &name) {
  std::error_code error;
  if (fs::exists(name, error)) return name;
  if (is_job_id(name)) return folder_of_job(name);
  throw Error(fmt::format("{}: no such run folder, file or job id", name));
}

}  // namespace

std::vector<std::string> trace_files(const std::string &path) {
  std::vector<std::string> result;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    for (const fs::directory_entry &entry : fs::directory_iterator(path, error)) {
      if (is_trace_name(entry.path()) && entry.is_regular_file(error)) result.push_back(entry.path().string());
    }
    std::sort(result.begin(), result.end());
  } else if (fs::exists(path, error)) {
    result.push_back(path);
  }
  return result;
}

std::vector<std::string> find_runs(const std::vector<std::string> &names) {
  std::vector<std::string> result;
  for (const std::string &name : names) {
    std::string path = resolve(name);
    std::error_code error;
    if (!fs::is_directory(path, error) || !trace_files(path).empty()) {
      result.push_back(path);
      continue;
    }
    std::vector<fs::path> below = run_folders(path);
    if (below.empty()) throw Error(fmt::format("{}: holds no run (no .sst file in it or one level below)", name));
    for (const fs::path &folder : below) result.push_back(folder.string());
  }
  // The same run named twice is one run: counting it twice would invent confidence.
  std::vector<std::string> unique;
  std::set<std::string> seen;
  for (const std::string &path : result) {
    std::error_code error;
    if (seen.insert(fs::weakly_canonical(path, error).string()).second) unique.push_back(path);
  }
  return unique;
}

RunModel load_run(const std::vector<std::string> &names, const std::string &step, bool wants_events) {
  RunModel run;
  std::vector<std::string> files;
  if (names.empty()) {
    run.path = newest_run();
    files = trace_files(run.path);
  } else {
    for (const std::string &name : names) {
      std::string path = resolve(name);
      std::error_code error;
      if (names.size() > 1 && fs::is_directory(path, error))
        throw Error(fmt::format("{} is a folder: name one run folder, or several files of one run; to look at several "
                                "runs use 'slurmscope compare'", path));
      std::vector<std::string> found = trace_files(path);
      if (found.empty()) {
        size_t below = run_folders(path).size();
        throw Error(below == 0 ? fmt::format("{}: no .sst file in it: nothing was recorded there", path)
                               : fmt::format("{}: holds {} runs; name one of them", path, below));
      }
      run.path += (run.path.empty() ? "" : " ") + path;
      files.insert(files.end(), found.begin(), found.end());
    }
  }
  size_t readable = 0;
  std::string first_error;
  for (const std::string &file : files) {
    try {
      run.set.add_file(file);
      ++readable;
    } catch (const Error &error) {
      // One unreadable file of several must not hide the others; it is shown as a loss.
      run.set.files.back().error = error.what();
      if (first_error.empty()) first_error = error.what();
    }
  }
  if (readable == 0) throw Error(first_error);
  run.set.complete_from_events();
  run.set.finish();
  run.worlds = build_worlds(run.set);
  if (run.worlds.empty()) {
    for (const LoadedFile &file : run.set.files)
      if (file.damage.damaged)
        throw Error(fmt::format("{}: damaged at byte {} ({}) before any process was described", file.path,
                                file.damage.offset, file.damage.reason));
    throw Error(fmt::format("{}: holds no process: nothing was recorded", run.path));
  }
  read_events(&run, wants_events);
  if (!step.empty()) {
    std::string known;
    auto matches = [&](const World &world) {
      known += (known.empty() ? "" : ", ") + world.label;
      return world.label == step;
    };
    auto found = std::find_if(run.worlds.begin(), run.worlds.end(), matches);
    if (found == run.worlds.end()) throw Error(fmt::format("{}: no step {}; it has: {}", run.path, step, known));
    run.selected = static_cast<size_t>(found - run.worlds.begin());
  }
  return run;
}

}  // namespace slurmscope
