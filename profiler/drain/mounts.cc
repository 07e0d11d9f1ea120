// See mounts.h. The format is that of proc(5): "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELDS...] - TYPE SOURCE ...".
#include "profiler/drain/mounts.h"

#include <cstdlib>
#include <fstream>

namespace slurmscope {
namespace {

constexpr size_t kMaxBytes = 4 << 20, kMaxMounts = 16384;
constexpr int kPointField = 4;

std::string_view next_word(std::string_view *line) {
  size_t end = line->find(' ');
  std::string_view word = line->substr(0, end);
  line->remove_prefix(end == std::string_view::npos ? line->size() : end + 1);
  return word;
}

/// Blanks and the like are written as \ooo.
std::string unescaped(std::string_view text) {
  std::string plain;
  auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  for (size_t i = 0; i < text.size(); i++) {
    bool is_escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) && is_octal(text[i + 3]);
    if (!is_escape) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return plain;
}

}  // namespace

void MountTable::parse(std::string_view text) {
  mounts_.clear();
  while (!text.empty() && mounts_.size() < kMaxMounts) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    Mount mount;
    std::string_view word;
    for (int field = 0; !line.empty() && (word = next_word(&line)) != "-"; field++) {
      if (field == 0) mount.id = std::strtoull(std::string(word).c_str(), nullptr, 10);
      if (field == kPointField) mount.point = unescaped(word);
    }
    mount.type = unescaped(next_word(&line));
    if (mount.id != 0 && !mount.type.empty() && mount.point.starts_with('/')) mounts_.push_back(std::move(mount));
  }
}

void MountTable::read(const std::string &process) {
  std::ifstream file("/proc/" + process + "/mountinfo", std::ios::binary);
  std::string text;
  char piece[16384];
  while (text.size() < kMaxBytes && (file.read(piece, sizeof piece), file.gcount() > 0))
    text.append(piece, static_cast<size_t>(file.gcount()));
  parse(text);
}

const Mount *MountTable::find(uint64_t id) const {
  for (const Mount &mount : mounts_)
    if (mount.id == id) return &mount;
  return nullptr;
}

const Mount *MountTable::find_path(std::string_view path) const {
  if (!path.starts_with('/')) return nullptr;
  const Mount *best = nullptr;
  for (const Mount &mount : mounts_) {
    std::string_view point = mount.point;
    bool is_under = point == "/" || (path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/'));
    // A later mount hides an earlier one at the same point.
    if (is_under && (best == nullptr || point.size() >= best->point.size())) best = &mount;
  }
  return best;
}

}  // namespace slurmscope
