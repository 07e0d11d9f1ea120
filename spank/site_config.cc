// Reader of plugstack.conf arguments and slurmscope.conf. No locks; the file is read with stdio.
#include "spank/site_config.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spank/text.h"

#define SITE_KEYS "default partitions limits skip output spool libdir wait conf"

namespace slurmscope {
namespace {

__attribute__((format(printf, 2, 3))) bool complain(SiteConfig *site, const char *format, ...) {
  if (site->problem[0] != 0) return false;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(site->problem, sizeof site->problem, format, arguments);
  va_end(arguments);
  return false;
}

bool set_path(SiteConfig *site, const char *key, const char *value, char *field, size_t size) {
  if (value[0] != '/') return complain(site, "%s=%.200s: an absolute path is needed", key, value);
  if (strlen(value) >= size) return complain(site, "%s: the path is longer than %zu bytes", key, size - 1);
  copy_text(field, size, value);
  return true;
}

bool set_default(SiteConfig *site, const char *value) {
  if (value[0] == 0) return complain(site, "default= is empty");  // of a user that would mean a trace
  Settings settings = site->settings;
  char error[256];
  if (!parse_settings(value, &settings, error, sizeof error))
    return complain(site, "default=%.100s: %s", value, error);
  site->settings = settings;
  return true;
}

bool set_limits(SiteConfig *site, const char *value) {
  if (value[0] == 0) return complain(site, "limits= is empty");
  Settings limits = site->limits;
  char error[256];
  if (!parse_settings(value, &limits, error, sizeof error)) return complain(site, "limits=%.100s: %s", value, error);
#define NUMBER(name, initial, minimum, maximum, help)
#define TEXT(name, initial, help) \
  if (limits.name[0] != 0) return complain(site, "limits: " #name " is no number");
#include "proto/settings.def"
#undef NUMBER
#undef TEXT
  // A list that names no mode says nothing about it.
  if (value[strcspn(value, ",=")] == '=') limits.mode = site->limits.mode;
  site->limits = limits;
  return true;
}

bool set_wait(SiteConfig *site, const char *value) {
  char *end = nullptr;
  errno = 0;
  unsigned long seconds = strtoul(value, &end, 10);
  if (value[0] < '0' || value[0] > '9' || *end != 0 || errno != 0 || seconds < 1 || seconds > 600)
    return complain(site, "wait=%.100s: a number from 1 to 600 is needed", value);
  site->wait_seconds = static_cast<unsigned>(seconds);
  return true;
}

// Whoever can write the file decides for every job: only those may who could change slurmd itself.
FILE *open_site_file(const char *path, SiteConfig *site) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) {
    complain(site, "couldn't open %.200s: %s", path, strerror(errno));
  } else if (!S_ISREG(status.st_mode)) {
    complain(site, "%.200s is not read: it is no regular file", path);
  } else if ((status.st_uid != 0 && status.st_uid != getuid()) || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    complain(site, "%.200s is not read: it must belong to root and be writable by nobody else", path);
  } else if (FILE *file = fdopen(fd, "r")) {
    return file;
  }
  if (fd >= 0) close(fd);
  return nullptr;
}

// Cuts `line` at its comment and strips white space at both ends.
char *trim(char *line) {
  line[strcspn(line, "#\n")] = 0;
  line += strspn(line, " \t\r");
  size_t size = strlen(line);
  while (size > 0 && strchr(" \t\r", line[size - 1]) != nullptr) line[--size] = 0;
  return line;
}

}  // namespace

bool apply_site_word(const char *word, SiteConfig *site) {
  const char *equals = strchr(word, '=');
  size_t size = equals == nullptr ? strlen(word) : static_cast<size_t>(equals - word);
  auto is = [&](const char *key) { return strlen(key) == size && memcmp(word, key, size) == 0; };
  if (equals == nullptr)
    return complain(site, "'%.100s' is not key=value (known: " SITE_KEYS ")", word);
  const char *value = equals + 1;
  if (is("default")) return set_default(site, value);
  if (is("limits")) return set_limits(site, value);
  if (is("skip")) return copy_text(site->skip, value) || complain(site, "skip: the list is too long");
  if (is("wait")) return set_wait(site, value);
  if (is("spool")) return set_path(site, "spool", value, site->spool, sizeof site->spool);
  if (is("libdir")) return set_path(site, "libdir", value, site->libdir, sizeof site->libdir);
  if (is("partitions"))
    return copy_text(site->partitions, value) || complain(site, "partitions: the list is too long");
  if (is("output"))
    return copy_text(site->settings.output, value) || complain(site, "output: the path is too long");
  return complain(site, "unknown key '%.*s' (known: " SITE_KEYS ")",
                  static_cast<int>(size < 64 ? size : 64), word);
}

void read_site_file(const char *path, SiteConfig *site) {
  FILE *file = open_site_file(path, site);
  if (file == nullptr) return;
  char line[4096];
  for (int number = 1; fgets(line, sizeof line, file) != nullptr; number++) {
    size_t size = strlen(line);
    bool is_whole = size + 1 < sizeof line || line[size - 1] == '\n';
    if (!is_whole) {
      complain(site, "%.200s:%d: the line is longer than %zu bytes", path, number, sizeof line - 2);
      for (int c = 0; c != EOF && c != '\n';) c = fgetc(file);
      continue;
    }
    char *word = trim(line);
    bool had_problem = site->problem[0] != 0;
    if (*word == 0 || apply_site_word(word, site) || had_problem) continue;
    char problem[sizeof site->problem];
    copy_text(problem, site->problem);
    snprintf(site->problem, sizeof site->problem, "%.120s:%d: %.360s", path, number, problem);
  }
  fclose(file);
}

void read_site_arguments(int count, char *const *words, SiteConfig *site) {
  for (int i = 0; i < count; i++) {
    if (strncmp(words[i], "conf=", 5) == 0)
      read_site_file(words[i] + 5, site);
    else
      apply_site_word(words[i], site);
  }
}

bool site_covers_partition(const SiteConfig &site, const char *partition) {
  if (site.partitions[0] == 0) return true;
  if (partition == nullptr || partition[0] == 0) return false;
  size_t size = strlen(partition);
  for (const char *at = site.partitions; *at != 0;) {
    size_t length = strcspn(at, ",+");
    if (length == size && memcmp(at, partition, size) == 0) return true;
    at += length;
    if (*at != 0) at++;
  }
  return false;
}

}  // namespace slurmscope
