# The sampler: PAPI counters and call stacks; loaded with dlopen(RTLD_LOCAL) only when asked for, as
# is libpapi, by the sampler itself. C driver: no C++ runtime.
pkglib_LTLIBRARIES += slurmscope-sampler.la
slurmscope_sampler_la_SOURCES = \
  profiler/sampler/sampler.cc profiler/sampler/sampler_link.h profiler/sampler/thread_slot.h \
  profiler/sampler/timer.cc profiler/sampler/timer.h \
  profiler/sampler/papi.cc profiler/sampler/papi.h \
  profiler/sampler/papi_library.cc profiler/sampler/papi_library.h \
  profiler/sampler/papi_users.cc profiler/sampler/papi_users.h \
  profiler/unwind/cfi_rules.h profiler/unwind/unwind.h
slurmscope_sampler_la_CPPFLAGS = $(AM_CPPFLAGS) $(PAPI_CFLAGS)
slurmscope_sampler_la_CXXFLAGS = $(INJECTED_FLAGS) $(WARNINGS)
slurmscope_sampler_la_DEPENDENCIES = $(srcdir)/profiler/sampler/sampler.map
slurmscope_sampler_la_LDFLAGS = -module -avoid-version -shared -Wl,-z,defs -Wl,-z,nodelete -Wl,--as-needed \
  -Wl,--version-script=$(srcdir)/profiler/sampler/sampler.map
slurmscope_sampler_la_LINK = $(LIBTOOL) $(AM_V_lt) --tag=CC $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) --mode=link \
  $(CC) $(AM_CFLAGS) $(CFLAGS) $(slurmscope_sampler_la_LDFLAGS) $(LDFLAGS) -o $@
EXTRA_DIST += profiler/sampler/sampler.map
