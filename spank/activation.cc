// Implementation of the activation rule; see activation.h.
#include "spank/activation.h"

#include <cstdio>
#include <cstring>
#include <strings.h>

namespace slurmscope {
namespace {

bool is_said(const char *text) { return text != nullptr && text[0] != 0; }

// Slurm accepts the names of --profile in any case.
Mode mode_of_profile(const char *profile) { return strcasecmp(profile, "none") == 0 ? Mode::kOff : Mode::kTrace; }

bool is_users_own(const ActivationInputs &inputs) {
  if (!is_said(inputs.variable)) return false;
  return inputs.variable_set == nullptr || strcmp(inputs.variable, inputs.variable_set) != 0;
}

// Applies `text` over the settings so far. False, with a problem, if it is not understood.
bool apply_text(const char *text, Decision *decision) {
  Settings settings = decision->settings;
  settings.mode = Mode::kTrace;
  char error[256];
  if (!parse_settings(text, &settings, error, sizeof error)) {
    snprintf(decision->problem, sizeof decision->problem, "%s: %s", decided_by_name(decision->by), error);
    return false;
  }
  decision->settings = settings;
  return true;
}

// What the site has decided for all.
void apply_limits(const SiteConfig &site, Decision *decision) {
  char said[224];
  bool fits = join_lists(decision->settings.skip, sizeof decision->settings.skip, site.skip);
  bool is_lowered = lower_settings(&decision->settings, site.limits, said, sizeof said);
  if (!decision->is_by_user() || decision->problem[0] != 0) return;
  if (is_lowered)
    snprintf(decision->problem, sizeof decision->problem, "%s: lowered to this site's limit: %s",
             decided_by_name(decision->by), said);
  else if (!fits)
    snprintf(decision->problem, sizeof decision->problem, "%s: the list of skip is cut", decided_by_name(decision->by));
  decision->is_notice = is_lowered || !fits;
}

void decide_alone(const ActivationInputs &inputs, const SiteConfig &site, Decision *decision) {
  if (is_said(inputs.srun_profile)) {
    decision->by = DecidedBy::kSrunProfile;
    decision->settings.mode = mode_of_profile(inputs.srun_profile);
    return;
  }
  if (inputs.option != nullptr) {
    decision->by = DecidedBy::kOption;
    apply_text(inputs.option, decision);
    return;
  }
  if (is_said(inputs.profile)) {
    decision->by = DecidedBy::kProfile;
    decision->settings.mode = mode_of_profile(inputs.profile);
    return;
  }
  decision->by = DecidedBy::kVariable;
  if (is_users_own(inputs) && apply_text(inputs.variable, decision)) return;
  decision->by = DecidedBy::kNobody;
  if (site.settings.mode != Mode::kOff && site_covers_partition(site, inputs.partition)) {
    decision->by = DecidedBy::kSite;
    decision->settings.mode = site.settings.mode;
  }
}

}  // namespace

void decide(const ActivationInputs &inputs, const SiteConfig &site, Decision *decision) {
  *decision = Decision();
  decision->settings = site.settings;
  decision->settings.mode = Mode::kOff;
  lower_settings(&decision->settings, site.limits, nullptr, 0);  // of what a user did not say he need not hear
  decide_alone(inputs, site, decision);
  apply_limits(site, decision);
}

bool may_be_active(const ActivationInputs &inputs, const SiteConfig &site) {
  return is_said(inputs.srun_profile) || inputs.option != nullptr || is_said(inputs.profile) ||
         is_said(inputs.variable) || site.settings.mode != Mode::kOff;
}

const char *decided_by_name(DecidedBy by) {
  switch (by) {
    case DecidedBy::kSrunProfile: return "srun --profile";
    case DecidedBy::kOption: return "--slurmscope";
    case DecidedBy::kProfile: return "--profile";
    case DecidedBy::kVariable: return "SLURMSCOPE";
    case DecidedBy::kSite: return "the site default";
    case DecidedBy::kNobody: break;
  }
  return "nobody";
}

}  // namespace slurmscope
