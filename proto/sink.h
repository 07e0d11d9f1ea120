// Where bytes go: a file, or memory in tests.
#pragma once

#include <cstddef>
#include <string>

namespace slurmscope {

class Sink {
 public:
  virtual ~Sink() = default;
  /// Appends all of `size` bytes, or throws Error naming the target and the reason; after an
  /// exception the target holds a prefix of what was appended.
  virtual void append(const void *data, size_t size) = 0;
};

class MemorySink : public Sink {
 public:
  void append(const void *data, size_t size) override { bytes.append(static_cast<const char *>(data), size); }
  std::string bytes;
};

}  // namespace slurmscope
