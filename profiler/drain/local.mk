# The drainer: one process per node and step. All but main is a convenience library, for the unit tests.

noinst_LTLIBRARIES += libslurmscope-drain.la
libslurmscope_drain_la_SOURCES = \
  profiler/drain/checkpoint.cc profiler/drain/checkpoint.h \
  profiler/drain/clock_reader.cc profiler/drain/clock_reader.h \
  profiler/drain/drain_output.cc \
  profiler/drain/drain_worker.cc profiler/drain/drain_worker.h \
  profiler/drain/followed_process.cc profiler/drain/followed_process.h \
  profiler/drain/follower.cc profiler/drain/follower.h profiler/drain/follower_batch.cc \
  profiler/drain/journal.cc profiler/drain/journal.h \
  profiler/drain/modules.cc profiler/drain/mounts.cc profiler/drain/mounts.h profiler/drain/modules.h \
  profiler/drain/node_facts.cc profiler/drain/node_facts.h \
  profiler/drain/output_file.cc profiler/drain/output_file.h \
  profiler/drain/probe.cc profiler/drain/probe.h \
  profiler/drain/process_definitions.cc \
  profiler/drain/process_watch.cc profiler/drain/process_watch.h \
  profiler/drain/request_resolver.cc \
  profiler/drain/resolver.cc profiler/drain/resolver.h \
  profiler/drain/ring_view.cc profiler/drain/ring_view.h \
  profiler/drain/spool.cc profiler/drain/spool.h \
  profiler/drain/supervisor.cc profiler/drain/supervisor.h \
  profiler/drain/utf8_text.cc profiler/drain/utf8_text.h \
  profiler/drain/virtualization.cc profiler/drain/virtualization.h
libslurmscope_drain_la_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_CFLAGS) $(ZSTD_CFLAGS)
libslurmscope_drain_la_LIBADD = libslurmscope-proto.la
$(libslurmscope_drain_la_OBJECTS): proto/slurmscope.pb.h

pkglibexec_PROGRAMS += slurmscope-drain
slurmscope_drain_SOURCES = profiler/drain/drain_main.cc
slurmscope_drain_LDADD = libslurmscope-drain.la
