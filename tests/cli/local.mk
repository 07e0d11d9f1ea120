# Tests of the command line: tests/cli/test_* are scripts that run on a staged installation.
EXTRA_DIST += tests/cli/test_cli tests/cli/test_record_trouble tests/cli/test_recording tests/cli/test_salvage \
  tests/cli/phased.c tests/cli/test_salvage_losses tests/cli/salvage_writes.c tests/cli/cases tests/golden \
  tests/cli/test_hostile_files tests/cli/test_many_nodes

check_PROGRAMS += replicate_trace
replicate_trace_SOURCES = tests/cli/replicate_trace.cc
replicate_trace_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_CFLAGS)
replicate_trace_LDADD = libslurmscope-proto.la
$(replicate_trace_OBJECTS): proto/slurmscope.pb.h
