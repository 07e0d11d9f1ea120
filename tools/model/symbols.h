// Addresses of a recorded process to functions and source lines, after the process is gone.
//
// Called by the report for stack samples and call sites. Uses the recorded modules (path, build id,
// mapping) and libdw on the files as they are now; a file that is gone or was rebuilt gives
// "(no symbol)" of that object instead of a wrong function, and a complaint. Remembers what it found, by
// object and offset, so that the ranks of a job cost what one does. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
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
    std::string file;      // of the source, as the compiler was given it; "" without debug information
    int line = 0;
    uint64_t offset = 0;   // the address as the object has it (for addr2line); in the file if that is not there
  };
  /// `is_return_address`: look one byte earlier, where the call is. Lives as long as this.
  const Place &resolve(const ProcessRecord &process, uint64_t address, bool is_return_address);

  /// Why objects that were asked for have no names, a sentence each.
  const std::set<std::string> &complaints() const { return complaints_; }

 private:
  struct Object;
  Object &open(const v1::Module &module);
  void name(const Object &object, uint64_t address, Place *place) const;
  std::map<std::string, std::unique_ptr<Object>> objects_;
  std::map<std::pair<const Object *, uint64_t>, Place> places_;  // by object and file offset
  std::map<uint64_t, Place> unmapped_;
  std::set<std::string> complaints_;
};

/// True if `module` (a base name) is a part of an MPI library: MPI itself, its Fortran bindings, what it is made of.
bool is_mpi_library(const std::string &module);

}  // namespace slurmscope
