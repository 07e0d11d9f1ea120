# The fuzzer is built apart (fuzz.mk, with clang); here is the test that feeds its corpus to the product as built.
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/large tests/fuzz/fuzz.mk tests/fuzz/fuzz_main.cc tests/fuzz/run_targets \
  tests/fuzz/trace_mutator.cc tests/fuzz/trace_mutator.h

if HAVE_GTEST
check_PROGRAMS += hostile_test
hostile_test_SOURCES = tests/unit/hostile_corpus_test.cc tests/fuzz/hostile_input.h tests/fuzz/hostile_spool.cc \
  tests/fuzz/hostile_spool.h tests/fuzz/hostile_trace.cc
hostile_test_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_CFLAGS) $(FMT_CFLAGS) $(GTEST_CFLAGS) \
  -DSLURMSCOPE_FUZZ='"$(abs_top_srcdir)/tests/fuzz"'
hostile_test_LDADD = libtest-rings.la libslurmscope-drain.la libslurmscope-tools.la $(GTEST_LIBS)
$(hostile_test_OBJECTS): proto/slurmscope.pb.h
TESTS += hostile_test
endif

check_PROGRAMS += make_corpus
make_corpus_SOURCES = tests/fuzz/make_corpus.cc tests/fuzz/hostile_input.h tests/fuzz/hostile_spool.cc tests/fuzz/hostile_spool.h \
  tests/fuzz/hostile_trace.cc tests/unit/run_maker.cc tests/unit/run_maker.h tests/unit/ring_maker.cc tests/unit/ring_maker.h
make_corpus_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_CFLAGS) $(FMT_CFLAGS) $(ZSTD_CFLAGS)
make_corpus_LDADD = libslurmscope-drain.la libslurmscope-tools.la $(ZSTD_LIBS)
$(make_corpus_OBJECTS): proto/slurmscope.pb.h
