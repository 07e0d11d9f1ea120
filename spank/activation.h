// The rule that decides whether a step is profiled, and how: a pure function, tested without Slurm.
//
// Called by step_start.cc in a child process that has become the user: most of the texts are the user's.
// No allocation, no locks, no system calls.
#pragma once

#include "proto/settings.h"
#include "spank/site_config.h"

namespace slurmscope {

/// Everything that anybody may have said. NULL: not said.
struct ActivationInputs {
  const char *srun_profile = nullptr;  // --profile of this srun itself, which had no --slurmscope itself
  const char *option = nullptr;        // --slurmscope, of this srun or inherited; "": without a value
  const char *profile = nullptr;       // SLURM_PROFILE: --profile of sbatch or salloc, inherited
  const char *variable = nullptr;      // SLURMSCOPE as the step's environment has it
  const char *variable_set = nullptr;  // what the plugin itself set it to in an enclosing step
  const char *partition = nullptr;
};

enum class DecidedBy : int { kNobody, kSrunProfile, kOption, kProfile, kVariable, kSite };

struct Decision {
  Settings settings;               // mode kOff: the step is not profiled
  DecidedBy by = DecidedBy::kNobody;
  char problem[384] = "";          // a sentence for the log; empty: none
  bool is_notice = false;          // it is no trouble: the step is profiled, with less than was asked for

  bool is_active() const { return settings.mode != Mode::kOff; }
  /// Whether a person asked for it, so that a failure is worth a line on his terminal.
  bool is_by_user() const { return by != DecidedBy::kNobody && by != DecidedBy::kSite; }
};

/// Decides. First match wins:
///   1. --profile on this srun's own command line (a nested `srun --profile=none` switches off, whatever
///      the job was submitted with)
///   2. --slurmscope, its own or inherited
///   3. SLURM_PROFILE, which sbatch and salloc export: None is off, anything else is a trace
///   4. SLURMSCOPE, if it is the user's and not the plugin's own
///   5. the site default, in its partitions
/// The site's settings other than the mode are the base that a user's settings are applied over; what is above
/// the site's limits is lowered, and its list of executables to skip is added. A text
/// that can't be understood never fails the job: a bad option leaves it unprofiled (the same text was
/// already refused when the job was submitted), a bad SLURMSCOPE is skipped.
void decide(const ActivationInputs &inputs, const SiteConfig &site, Decision *decision);

/// Whether decide() could come to anything but off. Looks at presence only, reads no text, so slurmstepd
/// may call it as root and spare the fork of a step that nobody wants profiled.
bool may_be_active(const ActivationInputs &inputs, const SiteConfig &site);

/// "--slurmscope", "SLURM_PROFILE"... as messages name it.
const char *decided_by_name(DecidedBy by);

}  // namespace slurmscope
