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

// Applies `text` over the site's settings. False, with a problem, if it is not understood.
bool apply_text(const char *name, const char *text, const SiteConfig &site, Decision *decision) {
  Settings settings = site.settings;
  settings.mode = Mode::kTrace;
  char error[256];
  if (!parse_settings(text, &settings, error, sizeof error)) {
    snprintf(decision->problem, sizeof decision->problem, "%s: %s", name, error);
    return false;
  }
  decision->settings = settings;
  return true;
}

}  // namespace

void decide(const ActivationInputs &inputs, const SiteConfig &site, Decision *decision) {
  *decision = Decision();
  decision->settings = site.settings;
  decision->settings.mode = Mode::kOff;
  if (is_said(inputs.srun_profile)) {
    decision->by = DecidedBy::kSrunProfile;
    decision->settings.mode = mode_of_profile(inputs.srun_profile);
    return;
  }
  if (inputs.option != nullptr) {
    decision->by = DecidedBy::kOption;
    apply_text("--slurmscope", inputs.option, site, decision);
    return;
  }
  if (is_said(inputs.profile)) {
    decision->by = DecidedBy::kProfile;
    decision->settings.mode = mode_of_profile(inputs.profile);
    return;
  }
  if (is_users_own(inputs) && apply_text("SLURMSCOPE", inputs.variable, site, decision)) {
    decision->by = DecidedBy::kVariable;
    return;
  }
  if (site.settings.mode != Mode::kOff && site_covers_partition(site, inputs.partition)) {
    decision->by = DecidedBy::kSite;
    decision->settings.mode = site.settings.mode;
  }
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
