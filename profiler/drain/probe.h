// Where facts about the node are read from: files below one root, and CPUID. Both can be replaced, so that
// the fingerprint of a machine that is not at hand can be tested.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace slurmscope {

class Probe {
 public:
  using Cpuid = std::function<std::array<uint32_t, 4>(uint32_t leaf)>;  // eax, ebx, ecx, edx
  /// `root` is put before every path; "" is the real node.
  explicit Probe(std::string root = "");
  Probe(std::string root, Cpuid cpuid) : root_(std::move(root)), cpuid_(std::move(cpuid)) {}

  /// First line of a small file without blanks around it; nothing if it cannot be read.
  std::optional<std::string> line(const std::string &path) const;
  /// The whole file, up to 1 MiB.
  std::optional<std::string> text(const std::string &path) const;
  bool exists(const std::string &path) const;
  /// Names in a directory, sorted.
  std::vector<std::string> names(const std::string &path) const;
  /// Last part of what a symbolic link points to.
  std::optional<std::string> link_name(const std::string &path) const;
  std::array<uint32_t, 4> cpuid(uint32_t leaf) const { return cpuid_(leaf); }
  const std::string &root() const { return root_; }

 private:
  std::string root_;
  Cpuid cpuid_;
};

}  // namespace slurmscope
