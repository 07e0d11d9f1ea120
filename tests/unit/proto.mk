# Unit tests of proto/ and of the drainer, and what other tests make traces and rings with.
if HAVE_GTEST
check_LTLIBRARIES += libtest-traces.la
libtest_traces_la_SOURCES = tests/unit/trace_maker.cc tests/unit/trace_maker.h
libtest_traces_la_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_CFLAGS)
libtest_traces_la_LIBADD = libslurmscope-proto.la
$(libtest_traces_la_OBJECTS): proto/slurmscope.pb.h

check_PROGRAMS += proto_test
proto_test_SOURCES = \
  tests/unit/clock_map_test.cc \
  tests/unit/histogram_test.cc \
  tests/unit/hostile_trace_test.cc \
  tests/unit/summary_test.cc \
  tests/unit/trace_round_trip_test.cc
proto_test_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_CFLAGS) $(GTEST_CFLAGS)
proto_test_LDADD = libtest-traces.la libslurmscope-proto.la $(ZSTD_LIBS) $(GTEST_LIBS)
$(proto_test_OBJECTS): proto/slurmscope.pb.h
TESTS += proto_test

check_LTLIBRARIES += libtest-rings.la
libtest_rings_la_SOURCES = tests/unit/ring_maker.cc tests/unit/ring_maker.h
libtest_rings_la_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_CFLAGS)
libtest_rings_la_LIBADD = libslurmscope-drain.la
$(libtest_rings_la_OBJECTS): proto/slurmscope.pb.h

check_PROGRAMS += drain_test
drain_test_SOURCES = \
  tests/unit/drain_daemon_test.cc \
  tests/unit/drain_salvage_test.cc \
  tests/unit/drain_test_support.h \
  tests/unit/mounts_test.cc tests/unit/drain_worker_test.cc \
  tests/unit/node_facts_test.cc \
  tests/unit/resolver_test.cc
drain_test_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_CFLAGS) $(GTEST_CFLAGS)
drain_test_LDADD = libtest-traces.la libtest-rings.la libslurmscope-drain.la libslurmscope-proto.la $(GTEST_LIBS)
$(drain_test_OBJECTS): proto/slurmscope.pb.h
drain_test_DEPENDENCIES = libtest-traces.la libtest-rings.la libslurmscope-drain.la libslurmscope-proto.la slurmscope-drain$(EXEEXT)
TESTS += drain_test
endif
