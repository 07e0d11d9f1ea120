// Implementation of srun_arguments.h.
#include "spank/srun_arguments.h"

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace slurmscope {
namespace {

const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// srun replaces the command by its full path, so the first word is compared by base name.
bool command_starts_at(const char *const *words, int count, int at, const char *const *command, int command_count) {
  if (at + command_count > count) return false;
  bool ends_there = at + command_count == count || strcmp(words[at + command_count], ":") == 0;
  if (!ends_there || strcmp(base_name(words[at]), base_name(command[0])) != 0) return false;
  for (int i = 1; i < command_count; i++)
    if (strcmp(words[at + i], command[i]) != 0) return false;
  return true;
}

// Matches `word` against --`name`, or an abbreviation of at least `shortest` letters, as getopt_long
// does. Sets *value to the text after '=', or NULL.
bool is_long_option(const char *word, const char *name, size_t shortest, const char **value) {
  if (strncmp(word, "--", 2) != 0) return false;
  word += 2;
  size_t size = strcspn(word, "=");
  if (size < shortest || size > strlen(name) || strncmp(word, name, size) != 0) return false;
  *value = word[size] == '=' ? word + size + 1 : nullptr;
  return true;
}

}  // namespace

SrunFlags find_srun_flags(const char *const *words, int count, const char *const *command, int command_count) {
  SrunFlags flags;
  if (command_count < 1) return flags;
  // Components of a heterogeneous step are separated by ':'; each has its own options.
  int start = 1, end = -1;
  for (int i = 1; i < count && end < 0; i++) {
    if (command_starts_at(words, count, i, command, command_count)) end = i;
    if (strcmp(words[i], ":") == 0) start = i + 1;
  }
  for (int i = start; i < end; i++) {
    const char *value = nullptr;
    if (is_long_option(words[i], "slurmscope", 6, &value)) {
      flags.has_slurmscope = true;
    } else if (is_long_option(words[i], "profile", 4, &value)) {
      if (value == nullptr && i + 1 < end) value = words[++i];
      if (value != nullptr) flags.profile = value;
    }
  }
  return flags;
}

int read_own_command_line(HeapText *text, const char **words, int limit) {
  int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char buffer[4096];
  ssize_t size = 0;
  while ((size = read(file, buffer, sizeof buffer)) > 0) text->append_bytes(buffer, static_cast<size_t>(size));
  close(file);
  int count = 0;
  const char *end = text->c_str() + text->size();
  for (const char *at = text->c_str(); at < end && count < limit; at += strlen(at) + 1) words[count++] = at;
  return count;
}

}  // namespace slurmscope
