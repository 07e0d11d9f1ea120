// Implementation of fake_spank.h. A NULL handle is a bad argument, as in Slurm.
#include "tests/unit/fake_spank.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace slurmscope::testing {

spank_context_t fake_context = S_CTX_REMOTE;
std::vector<std::string> fake_log;
std::vector<spank_option> fake_options;

namespace {

void note(const char *level, const char *format, va_list arguments) {
  char text[2048];
  vsnprintf(text, sizeof text, format, arguments);
  fake_log.push_back(std::string(level) + text);
}

char **pointers(std::vector<std::string> &words) {
  static std::vector<char *> list;
  list.clear();
  for (std::string &word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list.data();
}

// In some versions of spank.h the codes are plain ints.
constexpr spank_err_t code(int value) { return static_cast<spank_err_t>(value); }
constexpr spank_err_t kOk = code(ESPANK_SUCCESS);

spank_err_t get_remaining(spank_t spank, spank_item_t item, va_list arguments) {
  switch (item) {
    case S_JOB_UID: *va_arg(arguments, uid_t *) = spank->uid; return kOk;
    case S_JOB_GID: *va_arg(arguments, gid_t *) = spank->gid; return kOk;
    case S_JOB_SUPPLEMENTARY_GIDS:
      *va_arg(arguments, gid_t **) = nullptr;
      *va_arg(arguments, int *) = 0;
      return kOk;
    case S_JOB_ARGV:
      *va_arg(arguments, int *) = static_cast<int>(spank->arguments.size());
      *va_arg(arguments, char ***) = pointers(spank->arguments);
      return kOk;
    case S_JOB_LOCAL_TO_GLOBAL_ID: {
      uint32_t local = va_arg(arguments, uint32_t);
      *va_arg(arguments, uint32_t *) = 10 + local;
      return kOk;
    }
    case S_TASK_ID:
      *va_arg(arguments, int *) = spank->task;
      return spank->task < 0 ? code(ESPANK_NOT_TASK) : kOk;
    case S_TASK_GLOBAL_ID:
      if (spank->task < 0) return code(ESPANK_NOT_TASK);
      *va_arg(arguments, uint32_t *) = 10 + static_cast<uint32_t>(spank->task);
      return kOk;
    case S_TASK_PID: *va_arg(arguments, pid_t *) = spank->task_pid; return kOk;
    case S_TASK_EXIT_STATUS: *va_arg(arguments, int *) = spank->exit_status; return kOk;
    default: return code(ESPANK_BAD_ARG);
  }
}

}  // namespace
}  // namespace slurmscope::testing

using namespace slurmscope::testing;

extern "C" {

spank_context_t spank_context(void) { return fake_context; }

spank_err_t spank_option_register(spank_t spank, spank_option *option) {
  fake_options.push_back(*option);
  return kOk;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...) {
  if (spank == nullptr) return code(ESPANK_BAD_ARG);
  va_list arguments;
  va_start(arguments, item);
  spank_err_t result = kOk;
  auto known = spank->items.find(item);
  if (known != spank->items.end())
    *va_arg(arguments, uint32_t *) = known->second;
  else if (item == S_JOB_LOCAL_TASK_COUNT)
    *va_arg(arguments, uint32_t *) = static_cast<uint32_t>(spank->local_tasks);
  else
    result = get_remaining(spank, item, arguments);
  va_end(arguments);
  return result;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buffer, int size) {
  if (spank == nullptr) return code(ESPANK_BAD_ARG);
  auto found = spank->variables.find(name);
  if (found == spank->variables.end()) return code(ESPANK_ENV_NOEXIST);
  snprintf(buffer, static_cast<size_t>(size), "%s", found->second.c_str());
  return found->second.size() >= static_cast<size_t>(size) ? code(ESPANK_NOSPACE) : kOk;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite) {
  if (spank == nullptr) return code(ESPANK_BAD_ARG);
  spank->variables[name] = value;
  return kOk;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name) {
  if (spank == nullptr) return code(ESPANK_BAD_ARG);
  spank->variables.erase(name);
  return kOk;
}

void slurm_error(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  note("error: ", format, arguments);
  va_end(arguments);
}

void slurm_info(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  note("info: ", format, arguments);
  va_end(arguments);
}

}  // extern "C"
