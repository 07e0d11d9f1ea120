# Tests of the I/O wrappers: the file table alone, and what reaches the rings (test_* scripts).
check_PROGRAMS += tests/io/ring_dump
tests_io_ring_dump_SOURCES = tests/io/ring_dump.cc

if HAVE_GTEST
check_PROGRAMS += tests/unit/io_test
TESTS += tests/unit/io_test
tests_unit_io_test_SOURCES = \
  tests/unit/file_table_test.cc tests/unit/path_rules_test.cc \
  profiler/io/descriptor_table.cc profiler/io/file_table.cc profiler/io/file_table.h profiler/io/path_table.cc \
  profiler/io/path_rules.cc profiler/io/path_rules.h profiler/io/path_text.cc profiler/io/path_text.h \
  profiler/io/socket_text.cc profiler/io/socket_text.h
tests_unit_io_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
tests_unit_io_test_LDADD = $(GTEST_LIBS)
endif

EXTRA_DIST += tests/io/awkward_io.cc tests/io/known_io.c tests/io/known_io.h \
  tests/io/known_kinds.c tests/io/known_sockets.c tests/io/known_io.expected tests/io/io_lib.sh \
  tests/io/test_awkward.sh tests/io/test_paths.sh tests/io/numbers.c tests/io/test_numbers.sh \
  tests/io/small_stack.c tests/io/test_small_stack.sh tests/io/test_tiny.sh tests/io/test_twins.sh tests/io/twins.c \
  tests/io/test_bystanders.sh tests/io/test_events.sh tests/io/test_small_spool.sh tests/io/test_report.py
