# The plugin over a fake Slurm: same sources as spank/slurmscope.la, compiled as an ordinary program.
EXTRA_DIST += tests/unit/fake_spank.h
if HAVE_GTEST
if HAVE_SLURM
check_PROGRAMS += tests/unit/spank_test
TESTS += tests/unit/spank_test
tests_unit_spank_test_SOURCES = tests/unit/spank_activation_test.cc tests/unit/spank_hooks_test.cc \
  tests/unit/fake_spank.cc $(spank_plugin_sources)
tests_unit_spank_test_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tests_unit_spank_test_CXXFLAGS = $(AM_CXXFLAGS) $(GTEST_CFLAGS)
tests_unit_spank_test_LDADD = $(GTEST_LIBS)
endif
endif
