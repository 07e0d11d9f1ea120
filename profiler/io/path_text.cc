// Text functions on paths; see path_text.h.
#include "profiler/io/path_text.h"

#include <cstring>

namespace slurmscope {

void tidy_path(char *path) {
  if (path[0] != '/') return;
  char *out = path;
  for (const char *in = path; *in != '\0';) {
    while (*in == '/') in++;
    const char *end = strchrnul(in, '/');
    size_t length = static_cast<size_t>(end - in);
    if (length != 0 && !(length == 1 && *in == '.')) {
      *out++ = '/';
      memmove(out, in, length);
      out += length;
    }
    in = end;
  }
  if (out == path) *out++ = '/';
  *out = '\0';
}

bool path_is_under(const char *path, const char *directory) {
  size_t length = strlen(directory);
  return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

void reduce_to_kind(char *target) {
  constexpr char kDeleted[] = " (deleted)";
  constexpr size_t kDeletedLength = sizeof(kDeleted) - 1;
  if (target[0] != '/') {
    // "socket:[1]", "pipe:[1]"; "anon_inode:[eventfd]" names its kind after the colon.
    char *colon = strchr(target, ':');
    if (colon != nullptr && strncmp(target, "anon_inode:", 11) != 0) colon[1] = '\0';
    return;
  }
  if (strncmp(target, "/dev/pts/", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0 ||
      strcmp(target, "/dev/console") == 0) {
    strcpy(target, "tty:");
    return;
  }
  size_t length = strlen(target);
  if (length > kDeletedLength && strcmp(target + length - kDeletedLength, kDeleted) == 0)
    target[length - kDeletedLength] = '\0';
}

void descriptor_link(int fd, char (&text)[32]) {
  constexpr char kPrefix[] = "/proc/self/fd/";
  char digits[12];
  int count = 0;
  unsigned value = static_cast<unsigned>(fd);
  do {
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  memcpy(text, kPrefix, sizeof(kPrefix) - 1);
  char *out = text + sizeof(kPrefix) - 1;
  while (count > 0) *out++ = digits[--count];
  *out = '\0';
}

uint64_t path_hash(const char *path) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a, then mixed: the low bits choose the slot
  for (; *path != '\0'; path++) hash = (hash ^ static_cast<unsigned char>(*path)) * 0x100000001b3u;
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15u;
  hash ^= hash >> 29;
  return hash == 0 ? 1 : hash;
}

}  // namespace slurmscope
