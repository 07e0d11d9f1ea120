# libslurmscope.so and the MPI backends: code that runs inside the application. libc only, linked with
# the C driver (a stray use of the C++ runtime then breaks the build), exporting what they intercept.
INJECTED_CPPFLAGS = $(AM_CPPFLAGS)
INJECTED_CXXFLAGS = $(INJECTED_FLAGS) $(WARNINGS) -fPIC -ffunction-sections -fno-plt -ftls-model=initial-exec
# One segment for all that is not written: each mapping costs every command of a job microseconds.
INJECTED_LDFLAGS = -module -avoid-version -shared -no-undefined -Wl,-z,defs -Wl,-z,relro -Wl,-z,noseparate-code \
	-Wl,-z,noexecstack -Wl,--as-needed -Wl,--gc-sections -Wl,-Bsymbolic
INJECTED_LINK = $(LIBTOOL) --tag=CC --mode=link $(CC) $(CFLAGS)

pkglib_LTLIBRARIES += libslurmscope.la
libslurmscope_la_SOURCES = \
	profiler/preload/thunks_x86_64.S \
	profiler/preload/attach.cc \
	profiler/preload/call_paths.cc \
	profiler/preload/guard.cc profiler/preload/guard.h \
	profiler/preload/guard_unwinding.cc \
	profiler/preload/lifecycle.cc \
	profiler/preload/log.cc \
	profiler/preload/own_stack.cc \
	profiler/preload/process_facts.cc \
	profiler/preload/recorder.cc \
	profiler/preload/resolve.cc \
	profiler/preload/runtime_threads.cc profiler/preload/runtime_threads.h \
	profiler/preload/call_paths.h \
	profiler/preload/ring_plan.cc profiler/preload/ring_plan.h \
	profiler/preload/call_table.h \
	profiler/preload/own_stack.h \
	profiler/preload/raw_syscall.h \
	profiler/preload/recorder.h \
	profiler/preload/recorder_state.h \
	profiler/preload/resolve.h \
	profiler/mpi/backend_link.h \
	profiler/mpi/mpi_calls.def \
	profiler/io/io_calls.def \
	profiler/io/descriptor_table.cc \
	profiler/io/file_table.cc profiler/io/file_table.h profiler/io/function_ref.h \
	profiler/io/io_engine.cc profiler/io/io_engine.h profiler/io/io_recording.h \
	profiler/io/io_follow_shapes.h profiler/io/io_following.h profiler/io/lazy_memory.h \
	profiler/io/path_table.cc profiler/io/path_table.h \
	profiler/io/io_shapes.h profiler/io/io_stream_shapes.h profiler/io/io_streams.h \
	profiler/io/io_transfer_shapes.h profiler/io/io_transfers.h profiler/io/io_wrappers.cc \
	profiler/io/path_rules.cc profiler/io/path_rules.h profiler/io/path_text.cc profiler/io/path_text.h \
	profiler/io/io_socket_shapes.h profiler/io/io_sockets.h profiler/io/socket_text.cc profiler/io/socket_text.h \
	profiler/io/real_function.cc profiler/io/real_function.h \
	profiler/unwind/cfi_rules.cc profiler/unwind/cfi_rules.h profiler/unwind/safe_memory.h \
	profiler/unwind/unwind.cc profiler/unwind/unwind.h \
	proto/settings.cc
libslurmscope_la_CPPFLAGS = $(INJECTED_CPPFLAGS) -DSLURMSCOPE_PRELOAD
libslurmscope_la_CXXFLAGS = $(INJECTED_CXXFLAGS)
libslurmscope_la_CCASFLAGS = $(AM_CCASFLAGS)
libslurmscope_la_LDFLAGS = $(INJECTED_LDFLAGS) -Wl,--version-script=profiler/preload/exports.map
libslurmscope_la_LINK = $(INJECTED_LINK) $(libslurmscope_la_LDFLAGS) -o $@
EXTRA_libslurmscope_la_DEPENDENCIES = profiler/preload/exports.map

profiler/preload/exports.map: profiler/preload/exports.map.in profiler/mpi/mpi_calls.def profiler/io/io_calls.def
	$(AM_V_GEN)mkdir -p profiler/preload && \
	$(CPP) -P -I$(top_srcdir) -x c $(srcdir)/profiler/preload/exports.map.in -o $@
CLEANFILES += profiler/preload/exports.map
EXTRA_DIST += profiler/preload/exports.map.in

BACKEND_SOURCES = \
	profiler/mpi/backend.cc \
	profiler/mpi/communicators.cc profiler/mpi/communicators.h \
	profiler/mpi/members.cc profiler/mpi/members.h \
	profiler/mpi/mpi_io.cc profiler/mpi/mpi_io.h \
	profiler/mpi/pause.cc profiler/mpi/pause.h \
	profiler/mpi/pcontrol_x86_64.S \
	profiler/preload/guard_unwinding.cc \
	profiler/mpi/backend_link.h \
	profiler/mpi/collective_shapes.h \
	profiler/mpi/communicator_shapes.h \
	profiler/mpi/completion.h \
	profiler/mpi/handle_table.h \
	profiler/mpi/implementation.h \
	profiler/mpi/life_cycle.h \
	profiler/mpi/matched_receive.h \
	profiler/mpi/one_sided.h \
	profiler/mpi/shapes.h \
	profiler/mpi/wrapper.h

# One stanza per MPI: only its headers are used.
if HAVE_OPENMPI
pkglib_LTLIBRARIES += slurmscope-openmpi.la
slurmscope_openmpi_la_SOURCES = $(BACKEND_SOURCES)
slurmscope_openmpi_la_CPPFLAGS = $(INJECTED_CPPFLAGS) $(openmpi_CPPFLAGS)
slurmscope_openmpi_la_CXXFLAGS = $(INJECTED_CXXFLAGS)
slurmscope_openmpi_la_LDFLAGS = $(INJECTED_LDFLAGS)
slurmscope_openmpi_la_LINK = $(INJECTED_LINK) $(slurmscope_openmpi_la_LDFLAGS) -o $@
endif
if HAVE_MPICH
pkglib_LTLIBRARIES += slurmscope-mpich.la
slurmscope_mpich_la_SOURCES = $(BACKEND_SOURCES)
slurmscope_mpich_la_CPPFLAGS = $(INJECTED_CPPFLAGS) $(mpich_CPPFLAGS)
slurmscope_mpich_la_CXXFLAGS = $(INJECTED_CXXFLAGS)
slurmscope_mpich_la_LDFLAGS = $(INJECTED_LDFLAGS)
slurmscope_mpich_la_LINK = $(INJECTED_LINK) $(slurmscope_mpich_la_LDFLAGS) -o $@
endif
