# The SPANK plugin: runs inside sbatch, srun and slurmstepd, so libc only (INJECTED_FLAGS, C driver).
EXTRA_DIST += spank/plugin.map
if HAVE_SLURM
pkglib_LTLIBRARIES += spank/slurmscope.la
dist_man_MANS += spank/slurmscope-spank.8
spank_plugin_sources = \
  spank/spank_cxx.h spank/options.def spank/text.h \
  spank/plugin.cc \
  spank/activation.cc spank/activation.h \
  spank/child.cc spank/child.h \
  spank/inject.cc spank/inject.h \
  spank/job_environment.cc spank/job_environment.h \
  spank/preload_list.cc spank/preload_list.h \
  spank/site_config.cc spank/site_config.h \
  spank/srun_arguments.cc spank/srun_arguments.h \
  spank/step.h spank/step_end.cc spank/step_start.cc \
  spank/step_facts.cc spank/step_facts.h \
  proto/settings.cc proto/settings.h proto/settings.def
spank_slurmscope_la_SOURCES = $(spank_plugin_sources)
spank_slurmscope_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
spank_slurmscope_la_CXXFLAGS = $(INJECTED_FLAGS) $(WARNINGS)
# Everything but Slurm's own spank_* and slurm_* must be there at link time.
spank_slurmscope_la_LDFLAGS = -module -avoid-version -shared -Wl,--version-script=$(srcdir)/spank/plugin.map
spank_slurmscope_la_LINK = $(LIBTOOL) $(AM_V_lt) --tag=CC $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) --mode=link $(CC) \
  $(AM_CFLAGS) $(CFLAGS) $(spank_slurmscope_la_LDFLAGS) $(LDFLAGS) -o $@
EXTRA_spank_slurmscope_la_DEPENDENCIES = spank/plugin.map
endif
