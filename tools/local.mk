# The command line. Everything but main is a convenience library, so that unit tests link the same code.
noinst_LTLIBRARIES += libslurmscope-tools.la
libslurmscope_tools_la_SOURCES = \
  tools/table.h \
  tools/model/build_worlds.cc \
  tools/model/call_sites.cc tools/model/call_sites.h \
  tools/model/category.cc tools/model/category.h \
  tools/model/clock_bounds.cc tools/model/clock_bounds.h \
  tools/model/clock_offsets.cc tools/model/clock_offsets.h \
  tools/model/largest_gaps.cc tools/model/largest_gaps.h \
  tools/model/load_run.cc tools/model/load_run.h \
  tools/model/match_messages.cc tools/model/match_messages.h \
  tools/model/rank.cc tools/model/rank.h \
  tools/model/read_events.cc tools/model/read_events.h \
  tools/model/run.h \
  tools/model/statistics.cc tools/model/statistics.h \
  tools/model/stream.cc tools/model/stream.h \
  tools/model/synchronising_calls.cc tools/model/synchronising_calls.h \
  tools/model/symbols.cc tools/model/symbols.h \
  tools/model/verify_file.cc tools/model/verify_file.h \
  tools/model/wrapped_time.h \
  tools/export/event_text.cc tools/export/event_text.h tools/export/exporters.h \
  tools/export/machine_table.cc tools/export/text_table.cc tools/export/text_values.cc \
  tools/report/report.h tools/report/clock_tables.cc tools/report/report_facts.cc tools/report/report_json.cc \
  tools/report/file_tables.cc tools/report/report_page.cc tools/report/report_sites.cc tools/report/report_tables.cc tools/report/salvage_page.cc \
  tools/compare/compare_json.cc tools/compare/compare_page.cc tools/compare/comparison.cc tools/compare/comparison.h \
  tools/compare/expression.cc tools/compare/expression.h tools/compare/gates.cc \
  tools/compare/run_facts.cc tools/compare/run_facts.h \
  tools/record/drainer_program.cc tools/record/drainer_program.h \
  tools/record/recording.h tools/record/run_command.cc tools/record/recording.cc \
  tools/record/salvage.cc tools/record/salvage.h
libslurmscope_tools_la_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_CFLAGS) $(FMT_CFLAGS) $(LIBDW_CFLAGS) \
  -DSLURMSCOPE_PKGLIBDIR='"$(pkglibdir)"'
libslurmscope_tools_la_LIBADD = libslurmscope-proto.la $(FMT_LIBS) $(LIBDW_LIBS) -lelf
$(libslurmscope_tools_la_OBJECTS): proto/slurmscope.pb.h

bin_PROGRAMS += slurmscope
slurmscope_SOURCES = tools/slurmscope_main.cc tools/commands.cc tools/commands.h tools/cmd_compare.cc tools/cmd_dump.cc \
  tools/cmd_record.cc tools/cmd_report.cc tools/cmd_salvage.cc tools/cmd_verify.cc
slurmscope_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_CFLAGS) $(FMT_CFLAGS)
slurmscope_LDADD = libslurmscope-tools.la
$(slurmscope_OBJECTS): proto/slurmscope.pb.h

dist_man_MANS += tools/slurmscope.1 tools/slurmscope-record.1 tools/slurmscope-report.1 tools/slurmscope-compare.1 \
  tools/slurmscope-dump.1 tools/slurmscope-verify.1 tools/slurmscope-salvage.1
