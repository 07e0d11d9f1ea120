// See path_rules.h.
#include "profiler/io/path_rules.h"

#include <cstdint>
#include <cstring>

#include "profiler/io/path_text.h"

namespace slurmscope {
namespace {

constexpr size_t kMaxRules = 64, kTextSize = 4096;

struct Rule {
  const char *path;
  uint32_t length;
  bool includes;
};

Rule rules[kMaxRules];
size_t rule_count, text_used;
char rule_text[kTextSize];
const char *spool_path = "";

void add_rule(const char *path, size_t length, bool includes) {
  if (length == 0 || rule_count == kMaxRules || text_used + length + 1 > kTextSize) return;
  char *copy = rule_text + text_used;
  memcpy(copy, path, length);
  copy[length] = '\0';
  tidy_path(copy);
  text_used += strlen(copy) + 1;
  rules[rule_count++] = {copy, static_cast<uint32_t>(strlen(copy)), includes};
}

void add_rules(const char *list, bool includes) {
  while (*list != '\0') {
    const char *end = strchrnul(list, '+');
    add_rule(list, static_cast<size_t>(end - list), includes);
    list = *end != '\0' ? end + 1 : end;
  }
}

bool matches(const Rule &rule, const char *path) {
  if (rule.path[0] != '/') return strncmp(path, rule.path, rule.length) == 0;  // "tcp:10.0.0.1"
  return rule.length == 1 ? path[0] == '/' : path_is_under(path, rule.path);
}

bool ends_with(const char *text, size_t length, const char *end) {
  size_t wanted = strlen(end);
  return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

}  // namespace

bool is_program_code(const char *path) {
  if (path[0] != '/') return false;
  size_t length = strlen(path);
  if (ends_with(path, length, ".pyc") || ends_with(path, length, ".py") || ends_with(path, length, "/__pycache__")) return true;
  // "libx.so", "libx.so.1.2"
  size_t stem = length;
  while (stem > 0 && ((path[stem - 1] >= '0' && path[stem - 1] <= '9') || path[stem - 1] == '.')) stem--;
  return stem >= 3 && strncmp(path + stem - 3, ".so", 3) == 0 && (path[stem] == '\0' || path[stem] == '.');
}

void set_path_rules(const char *exclude, const char *include, const char *spool) {
  rule_count = text_used = 0;
  spool_path = "";
  if (spool[0] != '\0') {
    add_rule(spool, strlen(spool), false);
    if (rule_count != 0) spool_path = rules[0].path;
  }
  add_rules("/proc+/sys", false);
  add_rules(include, true);
  add_rules(exclude, false);
}

bool is_recorded_path(const char *path) {
  if (spool_path[0] != '\0' && path_is_under(path, spool_path)) return false;
  const Rule *best = nullptr;
  for (size_t i = 0; i < rule_count; i++) {
    const Rule &rule = rules[i];
    if (best != nullptr && (rule.length < best->length || (rule.length == best->length && !rule.includes))) continue;
    if (matches(rule, path)) best = &rule;
  }
  return best != nullptr ? best->includes : !is_program_code(path);
}

}  // namespace slurmscope
