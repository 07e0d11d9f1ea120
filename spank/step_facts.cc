// Implementation of step_facts.h.
#include "spank/step_facts.h"

#include <unistd.h>

namespace slurmscope {
namespace {

// Step ids that are no number to a user (slurm.h names them differently in each version).
constexpr uint32_t kInteractiveStep = 0xfffffffa, kBatchStep = 0xfffffffb, kExternStep = 0xfffffffc;
// 22.05 gives 0, NO_VAL or INFINITE for "not an array".
bool is_real_id(uint32_t value) { return value != 0 && value < 0xfffffff0U; }

constexpr const char *kOptionVariable = "SLURM_SPANK__SLURM_SPANK_OPTION_slurmscope_slurmscope";

void name_step(uint32_t id, StepFacts *facts) {
  facts->is_extern = id == kExternStep;
  if (id == kBatchStep)
    copy_text(facts->step, "batch");
  else if (id == kInteractiveStep)
    copy_text(facts->step, "interactive");
  else
    snprintf(facts->step, sizeof facts->step, "%u", id);
}

// The first of the variables that is a number below `end`; 0 if none is.
template <size_t count> uint32_t read_number(spank_t spank, const char *const (&names)[count], uint32_t end) {
  for (const char *name : names) {
    HeapText text;
    if (!read_variable(spank, name, &text)) continue;
    char *rest = nullptr;
    unsigned long value = strtoul(text.c_str(), &rest, 10);
    if (rest != text.c_str() && *rest == 0 && value < end) return static_cast<uint32_t>(value);
  }
  return 0;
}

// The user could have set these variables: they only name files, and a leader must be near.
constexpr const char *kLeaderVariables[] = {"SLURM_HET_JOB_ID", "SLURM_PACK_JOB_ID", "SLURM_JOB_ID_HET_GROUP_0",
                                            "SLURM_JOB_ID_PACK_GROUP_0"};
constexpr uint32_t kMaxComponents = 128;
// 22.05 has an item for it, which stays 0; a batch step has not even this variable: its trace gets `.2`.
constexpr const char *kRestartVariables[] = {"SLURM_RESTART_COUNT"};
constexpr const char *kJobNodesVariables[] = {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"};

void gather_ids(spank_t spank, StepFacts *facts) {
  uid_t uid = 0;
  gid_t gid = 0;
  if (spank_get_item(spank, S_JOB_UID, &uid) == ESPANK_SUCCESS) facts->user.uid = uid;
  if (spank_get_item(spank, S_JOB_GID, &gid) == ESPANK_SUCCESS) facts->user.gid = gid;
  gid_t *groups = nullptr;
  int count = 0;
  if (spank_get_item(spank, S_JOB_SUPPLEMENTARY_GIDS, &groups, &count) == ESPANK_SUCCESS && count > 0) {
    facts->user.groups = groups;
    facts->user.group_count = count;
  }
  read_item(spank, S_JOB_ID, &facts->job_id);
  uint32_t step = 0;
  read_item(spank, S_JOB_STEPID, &step);
  name_step(step, facts);
  read_item(spank, S_SLURM_RESTART_COUNT, &facts->restart);
  if (!is_real_id(facts->restart)) facts->restart = read_number(spank, kRestartVariables, 1u << 16);
  read_item(spank, S_JOB_LOCAL_TASK_COUNT, &facts->local_task_count);
  facts->leader_id = facts->job_id;
  uint32_t leader = read_number(spank, kLeaderVariables, facts->job_id + 1);
  if (leader != 0 && facts->job_id - leader < kMaxComponents) {
    facts->is_het = true;
    facts->leader_id = leader;
    facts->het_group = facts->job_id - leader;
  }
}

void append_number(HeapText *info, const char *key, uint64_t value) {
  info->append("%s=%llu\n", key, static_cast<unsigned long long>(value));
}

void append_local_tasks(spank_t spank, StepFacts *facts) {
  HeapText list;
  for (uint32_t local = 0; local < facts->local_task_count; local++) {
    uint32_t global = 0;
    if (spank_get_item(spank, S_JOB_LOCAL_TO_GLOBAL_ID, local, &global) != ESPANK_SUCCESS) return;
    list.append("%s%u", local == 0 ? "" : ",", global);
  }
  if (list.size() > 0) append_info(&facts->info, "local_tasks", list.c_str());
}

void append_command(spank_t spank, HeapText *info) {
  char **words = nullptr;
  int count = 0;
  if (spank_get_item(spank, S_JOB_ARGV, &count, &words) != ESPANK_SUCCESS || words == nullptr) return;
  constexpr size_t kLongest = 4096;
  HeapText command;
  for (int i = 0; i < count && words[i] != nullptr && command.size() < kLongest; i++) {
    if (i > 0) command.append_text(" ");
    command.append_bytes(words[i], strnlen(words[i], kLongest - command.size()));
  }
  append_info(info, "command", command.c_str());
}

void append_items(spank_t spank, StepFacts *facts) {
  HeapText *info = &facts->info;
  append_number(info, "job", facts->leader_id);
  append_info(info, "step", facts->step);
  append_number(info, "uid", facts->user.uid);
  uint32_t value = 0;
  if (read_item(spank, S_JOB_NNODES, &value)) append_number(info, "nodes", value);
  if (read_item(spank, S_JOB_NODEID, &facts->node_id)) append_number(info, "node_id", facts->node_id);
  // The items count the nodes of the step only.
  value = read_number(spank, kJobNodesVariables, 1u << 24);
  if (value != 0) append_number(info, "job_nodes", value);
  if (read_item(spank, S_JOB_TOTAL_TASK_COUNT, &value)) append_number(info, "tasks", value);
  append_local_tasks(spank, facts);
  uint32_t array_task = 0;
  // A job that is no array has an array id too: its own. Only the task tells.
  if (read_item(spank, S_JOB_ARRAY_ID, &value) && is_real_id(value) &&
      read_item(spank, S_JOB_ARRAY_TASK_ID, &array_task) && array_task < 0xfffffff0U) {
    append_number(info, "array_job", value);
    append_number(info, "array_task", array_task);
  }
  if (facts->restart > 0) append_number(info, "restart", facts->restart);
  if (facts->is_het) append_number(info, "het_group", facts->het_group);
  append_info(info, "starter", "slurm");
  // The drainer watches who started it and leaves when that process is gone: slurmstepd itself, not the
  // short-lived child that has become the user and looks the same from outside.
  append_number(info, "starter_pid", static_cast<uint64_t>(getpid()));
  append_command(spank, info);
}

// The first of two variables that is set.
void read_either(spank_t spank, const char *first, const char *second, HeapText *value) {
  if (!read_variable(spank, first, value)) read_variable(spank, second, value);
}

void read_option(spank_t spank, const char *option, HeapText *value) {
  if (option != nullptr) {
    value->set(option);
    return;
  }
  // The batch step of `sbatch --export=NONE` or of an --export list never gets the callback.
  HeapText text;
  if (read_variable(spank, kOptionVariable, &text)) value->set(option_text(text.c_str()));
}

}  // namespace

ActivationInputs StepFacts::activation_inputs() const {
  ActivationInputs inputs;
  inputs.srun_profile = srun_profile.or_null();
  inputs.option = option.or_null();
  inputs.profile = profile.or_null();
  inputs.variable = variable.or_null();
  inputs.variable_set = variable_set.or_null();
  inputs.partition = partition.or_null();
  return inputs;
}

const char *option_text(const char *text) {
  return text == nullptr || strcmp(text, "(null)") == 0 ? "" : text;
}

void gather_step(spank_t spank, const char *option, StepFacts *facts) {
  gather_ids(spank, facts);
  read_option(spank, option, &facts->option);
  read_variable(spank, kProfileVariable, &facts->srun_profile);
  read_variable(spank, "SLURM_PROFILE", &facts->profile);
  read_variable(spank, "SLURMSCOPE", &facts->variable);
  read_variable(spank, kSetVariable, &facts->variable_set);
  read_variable(spank, kWorkDirVariable, &facts->work_dir);
  read_variable(spank, "SLURMSCOPE_SPOOL", &facts->spool_variable);
  read_variable(spank, "SLURM_JOB_PARTITION", &facts->partition);
  read_variable(spank, "SLURM_JOB_NAME", &facts->job_name);
  read_variable(spank, "SLURM_CLUSTER_NAME", &facts->cluster);
  read_variable(spank, "SLURM_SUBMIT_DIR", &facts->submit_dir);
  read_either(spank, "SLURM_JOB_USER", "USER", &facts->user_name);
  if (facts->is_shell_step())
    read_variable(spank, "SLURM_JOB_NODELIST", &facts->node_list);
  else
    read_either(spank, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", &facts->node_list);
  append_items(spank, facts);
}

void append_info(HeapText *info, const char *key, const char *value) {
  info->append_text(key);
  info->append_text("=");
  for (const char *at = value; *at != 0; at++) {
    char c = static_cast<unsigned char>(*at) < 0x20 || *at == 0x7f ? '?' : *at;
    info->append_bytes(&c, 1);
  }
  info->append_text("\n");
}

void spool_name(const StepFacts &facts, HeapText *name) {
  name->append("slurmscope-%u-%u.%s", static_cast<unsigned>(facts.user.uid), facts.leader_id, facts.step);
  if (facts.restart > 0) name->append(".%u", facts.restart);
  if (facts.is_het) name->append("+%u", facts.het_group);
}

void trace_name(const StepFacts &facts, const char *host, HeapText *name) {
  name->append("%s%s.%s", facts.is_shell_step() ? "" : "step", facts.step, host);
  if (facts.is_het) name->append(".het%u", facts.het_group);
  if (facts.restart > 0) name->append(".restart%u", facts.restart);
}

namespace {

// A user or job name as one component of a path.
void append_component(const char *text, HeapText *path) {
  if (text[0] == 0 || strcmp(text, ".") == 0 || strcmp(text, "..") == 0) path->append_text("_");
  for (const char *at = text; *at != 0; at++) {
    char c = *at == '/' || static_cast<unsigned char>(*at) < 0x20 ? '_' : *at;
    path->append_bytes(&c, 1);
  }
}

}  // namespace

void expand_output(const char *pattern, const StepFacts &facts, const char *directory, HeapText *path) {
  if (pattern[0] == 0) pattern = "slurmscope-%j";
  path->set("");
  if (pattern[0] != '/') {
    path->append_text(directory);
    if (path->size() == 0 || path->c_str()[path->size() - 1] != '/') path->append_text("/");
  }
  for (const char *at = pattern; *at != 0; at++) {
    if (*at != '%' || at[1] == 0) {
      path->append_bytes(at, 1);
      continue;
    }
    switch (*++at) {
      case 'j': path->append("%u", facts.leader_id); break;
      case 'x': append_component(facts.job_name.c_str(), path); break;
      case 'u':
        if (facts.user_name.size() > 0)
          append_component(facts.user_name.c_str(), path);
        else
          path->append("%u", static_cast<unsigned>(facts.user.uid));
        break;
      case '%': path->append_text("%"); break;
      default:  // not ours: as it stands
        path->append_bytes(at - 1, 2);
    }
  }
}

}  // namespace slurmscope
