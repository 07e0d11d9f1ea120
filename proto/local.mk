# The contract that all parts share. libslurmscope-proto.la is a convenience library of the drainer,
# the command line tools and the tests; nothing of it enters the application or slurmstepd.

noinst_LTLIBRARIES += libslurmscope-proto.la
libslurmscope_proto_la_SOURCES = \
  proto/clock_map.cc proto/clock_map.h \
  proto/error.h proto/event.h proto/ring.h proto/sink.h proto/version.h \
  proto/event_columns.cc proto/event_columns.h \
  proto/histogram.cc proto/histogram.h \
  proto/ring_layout.h \
  proto/settings.cc proto/settings.def proto/settings.h \
  proto/summary.cc proto/summary.h proto/summary_packet.cc \
  proto/trace_event.h \
  proto/trace_reader.cc proto/trace_reader.h \
  proto/trace_writer.cc proto/trace_writer.h \
  proto/zstd_frames.cc proto/zstd_frames.h
nodist_libslurmscope_proto_la_SOURCES = proto/slurmscope.pb.cc proto/slurmscope.pb.h
libslurmscope_proto_la_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_CFLAGS) $(ZSTD_CFLAGS)
libslurmscope_proto_la_LIBADD = $(PROTOBUF_LIBS) $(ZSTD_LIBS)

BUILT_SOURCES += proto/slurmscope.pb.h proto/slurmscope.pb.cc
CLEANFILES += proto/slurmscope.pb.h proto/slurmscope.pb.cc
EXTRA_DIST += proto/slurmscope.proto proto/FORMAT.md

# One run of protoc makes both files; the header only follows, so that a parallel make runs it once.
proto/slurmscope.pb.cc: proto/slurmscope.proto
	$(AM_V_GEN)$(MKDIR_P) proto && $(PROTOC) --cpp_out=. -I$(top_srcdir) $(top_srcdir)/proto/slurmscope.proto
proto/slurmscope.pb.h: proto/slurmscope.pb.cc
	@test -f $@ && touch $@ || { rm -f proto/slurmscope.pb.cc && $(MAKE) $(AM_MAKEFLAGS) proto/slurmscope.pb.cc; }
# BUILT_SOURCES only orders `all` and `check`; this also orders a make of this library alone.
$(libslurmscope_proto_la_OBJECTS): proto/slurmscope.pb.h
