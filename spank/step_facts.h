// Who, where and what a step is: gathered from Slurm, named, and written as SPOOL/step.info.
//
// gather_step() runs in slurmstepd and copies texts without reading them. The other functions are pure
// and run in the child that is the user: names and paths are made from the user's texts there.
#pragma once

#include <cstdint>

#include "spank/activation.h"
#include "spank/child.h"
#include "spank/job_environment.h"
#include "spank/text.h"

namespace slurmscope {

struct StepFacts {
  UserIds user;
  uint32_t job_id = 0;       // of this component, if the job is heterogeneous
  uint32_t leader_id = 0;    // the id that the user knows the job by
  uint32_t het_group = 0;
  bool is_het = false;
  uint32_t restart = 0;
  char step[16] = "";        // "0", "1".. "batch", "interactive"
  bool is_extern = false;
  uint32_t local_task_count = 0;
  uint32_t node_id = 0;      // of the step's nodes

  HeapText job_name, user_name, partition, node_list, cluster, submit_dir;
  HeapText work_dir;         // of the batch script, from kWorkDirVariable; absent outside a batch job
  HeapText spool_variable;   // SLURMSCOPE_SPOOL as inherited from an enclosing step
  HeapText option, srun_profile, profile, variable, variable_set;
  HeapText info;             // the lines of step.info that are known in slurmstepd

  /// A step of the shell that starts other steps: its tasks are scripts, not ranks.
  bool is_shell_step() const { return strcmp(step, "batch") == 0 || strcmp(step, "interactive") == 0; }
  ActivationInputs activation_inputs() const;
};

// Variables that the plugin owns besides SLURMSCOPE and SLURMSCOPE_SPOOL. The prefix SLURM_ lets them
// through --export=NONE.
constexpr const char *kSetVariable = "SLURM_SLURMSCOPE_SET";          // SLURMSCOPE as the plugin set it
constexpr const char *kWorkDirVariable = "SLURM_SLURMSCOPE_WORKDIR";  // the batch script's directory
constexpr const char *kProfileVariable = "SLURM_SLURMSCOPE_PROFILE";  // --profile of this srun; not for tasks

/// The option's text as it was typed: Slurm hands an option without a value on as NULL, "" or "(null)".
const char *option_text(const char *text);

/// Asks Slurm for everything. `option` is what the option's callback got (NULL: it was not called).
void gather_step(spank_t spank, const char *option, StepFacts *facts);

/// Appends `key=value\n`, with control characters replaced so that a value stays on its line.
void append_info(HeapText *info, const char *key, const char *value);

/// "slurmscope-<uid>-<job>.<step>[.<restart>][+<het group>]"
void spool_name(const StepFacts &facts, HeapText *name);

/// "step0.bm1[.het1][.restart1]": base name of the step's trace on this node.
void trace_name(const StepFacts &facts, const char *host, HeapText *name);

/// Expands %j (job id), %u (user), %x (job name) and %% of `pattern` (empty: "slurmscope-%j") and makes it
/// absolute, starting at `directory`.
void expand_output(const char *pattern, const StepFacts &facts, const char *directory, HeapText *path);

}  // namespace slurmscope
