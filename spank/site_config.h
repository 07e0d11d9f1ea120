// What the administrator says: the arguments of the plugin's line in plugstack.conf, and slurmscope.conf.
//
// Called by plugin.cc, once per step, in slurmstepd. A word that is not understood is skipped and the
// first one is kept as a sentence to be logged: a bad site file must never fail a job.
#pragma once

#include "proto/settings.h"

namespace slurmscope {

struct SiteConfig {
  SiteConfig() {
    settings.mode = Mode::kOff;
    set_no_limits(&limits);
  }

  Settings settings;                // default=MODE[,name=value...]: also the base of a user's own settings
  Settings limits;                  // limits=[MODE,][name=value...]: what nobody gets more than
  char skip[Settings::kTextSize] = "";  // skip=A+B: executables that are never recorded, whatever a user says
  char partitions[2048] = "";       // partitions=A,B: where `default` applies; empty: everywhere
  char spool[256] = "/dev/shm";     // spool=DIR: a tmpfs on which users may make directories
  char libdir[1024] = "";           // libdir=DIR: the libraries and the drainer; empty: the plugin's folder
  unsigned wait_seconds = 30;       // wait=SECONDS: how long the end of a step may be held up
  char problem[512] = "";           // the first thing that was wrong; empty: nothing
};

/// Applies one `key=value`. False, and a sentence in site->problem if it is still empty, when it is wrong.
bool apply_site_word(const char *word, SiteConfig *site);

/// Applies the plugin's arguments. `conf=FILE` reads that file where it stands, so later words win.
void read_site_arguments(int count, char *const *words, SiteConfig *site);

/// Applies the lines `key=value` of `path`; `#` starts a comment. A file that others than root (or the user that
/// slurmd runs as) could have written is not read.
void read_site_file(const char *path, SiteConfig *site);

/// True if the site default applies to jobs of `partition` (NULL or empty: unknown).
bool site_covers_partition(const SiteConfig &site, const char *partition);

}  // namespace slurmscope
