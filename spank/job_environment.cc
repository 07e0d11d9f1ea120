// Implementation of job_environment.h.
#include "spank/job_environment.h"

namespace slurmscope {

bool read_variable(spank_t spank, const char *name, HeapText *value) {
  constexpr size_t kMaximum = 4 << 20;  // more than the kernel passes to a program
  for (size_t size = 256; size <= kMaximum; size *= 4) {
    value->clear();
    char *buffer = value->resize(size);
    if (buffer == nullptr) break;
    spank_err_t error = spank_getenv(spank, name, buffer, static_cast<int>(size));
    if (error == ESPANK_SUCCESS) {
      value->resize(strlen(buffer));
      return true;
    }
    if (error != ESPANK_NOSPACE) break;
  }
  value->clear();
  return false;
}

bool read_item(spank_t spank, spank_item_t item, uint32_t *value) {
  uint32_t number = 0;
  if (spank_get_item(spank, item, &number) != ESPANK_SUCCESS) return false;
  *value = number;
  return true;
}

}  // namespace slurmscope
