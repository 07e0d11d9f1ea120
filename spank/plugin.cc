// The hooks of the SPANK plugin: what happens where. This file dispatches only.
//
//   local, allocator (sbatch, salloc, srun)   option: check the user's value
//   local (srun)                              local_user_init: pass srun's own --profile on
//   remote (slurmstepd)                       option: remember; user_init: decide, spool, drainer
//   remote (a task's child)                   task_init: environment
//   remote (slurmstepd)                       task_exit: status, the last one finishes; exit: the rest
//   slurmd, job script                        nothing
//
// Hooks may come in any order, more than once, or not at all. Each returns 0; only the option's callback
// returns -1, at submit time, for a value that is wrong. slurmstepd calls them from one thread; a task's
// child is a fork of it, so it sees the state that user_init left.
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

#include "spank/inject.h"
#include "spank/spank_cxx.h"
#include "spank/srun_arguments.h"
#include "spank/step.h"

using namespace slurmscope;

SPANK_PLUGIN(slurmscope, 1)

namespace {

constexpr size_t kLongestOption = 4096;

// Of this process: srun, or slurmstepd and its forks, which serve one step each.
struct PluginState {
  char option[kLongestOption];
  bool has_option;
  bool is_started, is_finished;  // the drainer of this step
  bool is_shell_step;
  bool is_first_node, has_told;  // the user hears of trouble from one node, once
  uint32_t tasks_left;
  unsigned wait_seconds;
  UserIds user;
  StartReport step;
  char libdir[PATH_MAX];
};
PluginState state;

int check_option(int value, const char *text, int remote) {
  text = option_text(text);
  if (remote == 0) {
    Settings settings;
    char error[256];
    if (strlen(text) >= kLongestOption) {
      slurm_error("--slurmscope: the value is longer than %zu bytes", kLongestOption - 1);
      return -1;
    }
    if (!parse_settings(text, &settings, error, sizeof error)) {
      slurm_error("--slurmscope=%.200s: %s", text, error);
      return -1;
    }
  }
  // Twice in srun's steps, the second time with "" for "no value": the result is the same.
  state.has_option = copy_text(state.option, text);
  return 0;
}

#define OPTION(name, arginfo, has_arg, usage) \
  {const_cast<char *>(name), const_cast<char *>(arginfo), const_cast<char *>(usage), has_arg, 0, check_option},
spank_option options[] = {
#include "spank/options.def"
};
#undef OPTION

// A failure is the user's business if he asked for the profile: then it goes to his terminal, too. But a step
// puts one line there, not one per node and hook; the others are in the logs of their nodes.
void log_line(const char *text) {
  if (text[0] == 0) return;
  bool is_for_user = state.step.is_by_user && state.is_first_node && !state.has_told;
  if (is_for_user)
    slurm_error("slurmscope: %s", text);
  else
    slurm_info("slurmscope: %s", text);
  state.has_told = state.has_told || (is_for_user && !state.step.is_notice);
}

// The folder that this plugin was loaded from, with links resolved.
void find_own_folder(char *folder, size_t size) {
  Dl_info info;
  char path[PATH_MAX];
  if (dladdr(reinterpret_cast<void *>(&find_own_folder), &info) == 0 || realpath(info.dli_fname, path) == nullptr)
    return;
  char *slash = strrchr(path, '/');
  if (slash == nullptr) return;
  *slash = 0;
  copy_text(folder, size, path);
}

void read_site(int count, char **words, SiteConfig *site) {
  read_site_arguments(count, words, site);
  copy_text(state.libdir, site->libdir);
  if (state.libdir[0] == 0) find_own_folder(state.libdir, sizeof state.libdir);
  if (site->problem[0] != 0) slurm_info("slurmscope: in the plugin's configuration: %s", site->problem);
}

RunningStep running_step() {
  return {state.user, state.step.spool, state.step.alias, state.libdir, state.wait_seconds};
}

// Copies the group list: the step's own may be gone by the time the step ends.
void keep_user(const UserIds &user) {
  free(const_cast<gid_t *>(state.user.groups));
  state.user = user;
  size_t bytes = static_cast<size_t>(user.group_count) * sizeof(gid_t);
  gid_t *groups = static_cast<gid_t *>(malloc(bytes + sizeof(gid_t)));
  if (groups == nullptr) state.user.group_count = 0;
  if (groups != nullptr && bytes > 0) memcpy(groups, user.groups, bytes);
  state.user.groups = groups;
}

uint32_t task_number(spank_t spank) {
  // In a heterogeneous step the item counts from 0 in each component; the variable counts through.
  HeapText text;
  uint32_t number = 0;
  read_item(spank, S_TASK_GLOBAL_ID, &number);
  if (!read_variable(spank, "SLURM_PROCID", &text)) return number;
  char *end = nullptr;
  unsigned long value = strtoul(text.c_str(), &end, 10);
  bool is_number = end != text.c_str() && *end == 0 && value < 0xfffffff0UL;
  return is_number ? static_cast<uint32_t>(value) : number;
}

}  // namespace

extern "C" {

SLURMSCOPE_EXPORT int slurm_spank_init(spank_t spank, int count, char **words) {
  switch (spank_context()) {
    case S_CTX_LOCAL:
    case S_CTX_ALLOCATOR:
    case S_CTX_REMOTE:
      for (spank_option &option : options)
        if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
          slurm_error("slurmscope: couldn't register --%s", option.name);
      break;
    default:
      break;
  }
  return 0;
}

SLURMSCOPE_EXPORT int slurm_spank_local_user_init(spank_t spank, int count, char **words) {
  if (spank_context() != S_CTX_LOCAL) return 0;
  int command_count = 0;
  char **command = nullptr;
  if (spank_get_item(spank, S_JOB_ARGV, &command_count, &command) != ESPANK_SUCCESS || command == nullptr) return 0;
  constexpr int kMostWords = 4096;
  HeapText text;
  auto arguments = static_cast<const char **>(calloc(kMostWords, sizeof(char *)));
  if (arguments == nullptr) return 0;
  int argument_count = read_own_command_line(&text, arguments, kMostWords);
  SrunFlags flags = find_srun_flags(arguments, argument_count, command, command_count);
  if (flags.profile != nullptr && !flags.has_slurmscope)
    setenv(kProfileVariable, flags.profile, 1);
  else
    unsetenv(kProfileVariable);
  free(arguments);
  return 0;
}

SLURMSCOPE_EXPORT int slurm_spank_user_init(spank_t spank, int count, char **words) {
  if (spank_context() != S_CTX_REMOTE || state.is_started) return 0;
  StepFacts facts;
  SiteConfig site;
  read_site(count, words, &site);
  gather_step(spank, state.has_option ? state.option : nullptr, &facts);
  if (facts.is_extern || state.libdir[0] == 0 || !may_be_active(facts.activation_inputs(), site)) return 0;
  start_step(facts, site, state.libdir, &state.step);
  state.is_first_node = facts.node_id == 0;
  log_line(state.step.message);
  state.step.is_notice = false;
  state.is_started = state.step.is_active;
  state.is_shell_step = facts.is_shell_step();
  state.tasks_left = facts.local_task_count;
  state.wait_seconds = site.wait_seconds;
  if (state.is_started) keep_user(facts.user);
  return 0;
}

SLURMSCOPE_EXPORT int slurm_spank_task_init(spank_t spank, int count, char **words) {
  if (spank_context() != S_CTX_REMOTE) return 0;
  if (!state.is_started) {
    clean_task(spank, state.libdir);
    return 0;
  }
  char message[768] = "";
  int local_task = 0;
  bool is_injected =
      inject_task(spank, state.step, state.is_shell_step, state.libdir, message, sizeof message);
  spank_get_item(spank, S_TASK_ID, &local_task);
  if (!is_injected && local_task == 0) log_line(message);
  return 0;
}

SLURMSCOPE_EXPORT int slurm_spank_task_exit(spank_t spank, int count, char **words) {
  if (spank_context() != S_CTX_REMOTE || !state.is_started || state.is_finished) return 0;
  TaskEnd end = {task_number(spank), 0, 0};
  spank_get_item(spank, S_TASK_PID, &end.pid);
  spank_get_item(spank, S_TASK_EXIT_STATUS, &end.status);
  if (state.tasks_left > 0) state.tasks_left--;
  // srun returns once its tasks have ended: the trace is whole by then, so a script may read it next.
  state.is_finished = state.tasks_left == 0;
  char message[768] = "";
  if (!end_task(running_step(), end, state.is_finished, message, sizeof message)) log_line(message);
  return 0;
}

SLURMSCOPE_EXPORT int slurm_spank_exit(spank_t spank, int count, char **words) {
  if (spank_context() != S_CTX_REMOTE || !state.is_started || state.is_finished) return 0;
  state.is_finished = true;
  char message[768] = "";
  if (!finish_step(running_step(), message, sizeof message)) log_line(message);
  return 0;
}

}  // extern "C"
