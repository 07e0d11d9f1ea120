// Addresses of a recorded process to function names, after the process is gone.
//
// Called by the report for stack samples and call sites. Uses the recorded modules (path, build id,
// mapping) and libdw on the files as they are now; a file that is gone or was rebuilt gives
// "(no symbol)" of that object instead of a wrong function. Caches per module; not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "tools/model/stream.h"

namespace slurmscope {

class Symbolizer {
 public:
  Symbolizer();
  ~Symbolizer();
  Symbolizer(const Symbolizer &) = delete;
  Symbolizer &operator=(const Symbolizer &) = delete;

  struct Place {
    std::string function;  // demangled; "(no symbol)" if the object has none there
    std::string module;    // base name, "" unknown
  };
  /// `is_return_address`: look one byte earlier, where the call is.
  Place resolve(const ProcessRecord &process, uint64_t address, bool is_return_address);

 private:
  struct Object;
  Object &open(const v1::Module &module);
  std::map<std::string, std::unique_ptr<Object>> objects_;
};

}  // namespace slurmscope
