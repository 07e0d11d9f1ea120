# Unit tests of tools/, and the maker of the golden traces.
if HAVE_GTEST
check_PROGRAMS += tools_test
tools_test_SOURCES = \
  tests/unit/clock_offsets_test.cc \
  tests/unit/comparison_test.cc \
  tests/unit/damage_test.cc \
  tests/unit/exporters_test.cc \
  tests/unit/largest_gaps_test.cc \
  tests/unit/match_messages_test.cc \
  tests/unit/read_events_test.cc \
  tests/unit/run_maker.cc tests/unit/run_maker.h \
  tests/unit/run_model_test.cc \
  tests/unit/statistics_test.cc
tools_test_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_CFLAGS) $(FMT_CFLAGS) $(GTEST_CFLAGS)
tools_test_LDADD = libslurmscope-tools.la $(GTEST_LIBS)
$(tools_test_OBJECTS): proto/slurmscope.pb.h
TESTS += tools_test
endif

check_PROGRAMS += make_golden
make_golden_SOURCES = tests/golden/make_golden.cc tests/unit/run_maker.cc tests/unit/run_maker.h
make_golden_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_CFLAGS)
make_golden_LDADD = libslurmscope-proto.la
$(make_golden_OBJECTS): proto/slurmscope.pb.h
