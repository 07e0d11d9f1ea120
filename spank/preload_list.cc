// Implementation of preload_list.h.
#include "spank/preload_list.h"

#include <cstring>

namespace slurmscope {

bool preload_without(const char *list, const char *library, HeapText *result) {
  size_t size = strlen(library);
  bool found = false;
  result->set("");
  for (const char *at = list == nullptr ? "" : list; *at != 0;) {
    at += strspn(at, ": ");
    size_t length = strcspn(at, ": ");
    if (length == 0) break;
    if (length == size && memcmp(at, library, size) == 0) {
      found = true;
    } else {
      if (result->size() > 0) result->append_text(":");
      result->append_bytes(at, length);
    }
    at += length;
  }
  return found;
}

void preload_with(const char *list, const char *library, HeapText *result) {
  HeapText others;
  preload_without(list, library, &others);
  result->set(library);
  if (others.size() > 0) {
    result->append_text(":");
    result->append_text(others.c_str());
  }
}

}  // namespace slurmscope
