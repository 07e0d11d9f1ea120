// See mpi_io.h.
#include "profiler/mpi/mpi_io.h"

#include <cstring>

namespace slurmscope {

constinit OpenFiles open_files = {};

uint32_t file_of_name(const char *name) {
  if (mpi_library->file_id == nullptr) return 0;
  // "ufs:", "nfs:", "lustre:", ... tell the library which driver to take; one letter is no driver.
  const char *colon = strchr(name, ':'), *slash = strchr(name, '/');
  bool has_driver = colon != nullptr && colon - name > 1 && (slash == nullptr || colon < slash);
  return mpi_library->file_id(has_driver ? colon + 1 : name);
}

}  // namespace slurmscope
