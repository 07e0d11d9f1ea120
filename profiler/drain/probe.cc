// See probe.h.
#include "profiler/drain/probe.h"

#include <cpuid.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "profiler/drain/spool.h"
#include "profiler/drain/utf8_text.h"

namespace slurmscope {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

std::array<uint32_t, 4> real_cpuid(uint32_t leaf) {
  std::array<uint32_t, 4> registers{};
  __cpuid(leaf, registers[0], registers[1], registers[2], registers[3]);
  return registers;
}

}  // namespace

Probe::Probe(std::string root) : root_(std::move(root)), cpuid_(real_cpuid) {}

std::optional<std::string> Probe::text(const std::string &path) const {
  Descriptor file(open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return std::nullopt;
  std::string text;
  char buffer[16384];
  ssize_t count;
  while (text.size() < kMaxBytes && (count = read(file.get(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(count));
  if (count < 0) return std::nullopt;
  return utf8_text(text);
}

std::optional<std::string> Probe::line(const std::string &path) const {
  std::optional<std::string> all = text(path);
  if (!all) return std::nullopt;
  std::string first = all->substr(0, all->find('\n'));
  size_t start = first.find_first_not_of(" \t\r"), end = first.find_last_not_of(" \t\r");
  return start == std::string::npos ? "" : first.substr(start, end - start + 1);
}

bool Probe::exists(const std::string &path) const {
  std::error_code error;
  return std::filesystem::exists(root_ + path, error);
}

std::vector<std::string> Probe::names(const std::string &path) const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(root_ + path, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> Probe::link_name(const std::string &path) const {
  std::error_code error;
  std::filesystem::path target = std::filesystem::read_symlink(root_ + path, error);
  if (error) return std::nullopt;
  return utf8_text(target.filename().string());
}

}  // namespace slurmscope
