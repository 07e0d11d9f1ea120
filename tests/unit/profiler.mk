# Unit tests of the recorder and of the MPI wrappers, against memory and a fake MPI.
if HAVE_GTEST
check_PROGRAMS += recorder_test
recorder_test_SOURCES = tests/unit/recorder_test.cc tests/unit/call_paths_test.cc \
  tests/unit/polls_test.cc tests/unit/recorder_test_support.h \
  profiler/preload/attach.cc profiler/preload/call_paths.cc profiler/preload/guard.cc profiler/preload/log.cc \
  profiler/preload/own_stack.cc profiler/preload/process_facts.cc profiler/preload/recorder.cc profiler/preload/ring_plan.cc profiler/preload/runtime_threads.cc \
  profiler/unwind/cfi_rules.cc profiler/unwind/unwind.cc \
  proto/settings.cc
recorder_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS) -DSLURMSCOPE_PRELOAD
recorder_test_LDADD = $(GTEST_LIBS)
TESTS += recorder_test

WRAPPER_TEST_SOURCES = tests/unit/wrapper_shapes_test.cc tests/unit/wrapper_test.cc \
  tests/unit/fake_mpi.cc tests/unit/fake_mpi.h profiler/mpi/backend.cc profiler/mpi/communicators.cc \
  profiler/mpi/members.cc profiler/mpi/mpi_io.cc profiler/mpi/pause.cc profiler/mpi/pcontrol_x86_64.S
if HAVE_OPENMPI
check_PROGRAMS += wrapper_openmpi_test
wrapper_openmpi_test_SOURCES = $(WRAPPER_TEST_SOURCES)
wrapper_openmpi_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS) $(openmpi_CPPFLAGS)
wrapper_openmpi_test_CCASFLAGS = $(AM_CCASFLAGS)
wrapper_openmpi_test_LDADD = $(GTEST_LIBS)
TESTS += wrapper_openmpi_test
endif
if HAVE_MPICH
check_PROGRAMS += wrapper_mpich_test
wrapper_mpich_test_SOURCES = $(WRAPPER_TEST_SOURCES)
wrapper_mpich_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS) $(mpich_CPPFLAGS)
wrapper_mpich_test_CCASFLAGS = $(AM_CCASFLAGS)
wrapper_mpich_test_LDADD = $(GTEST_LIBS)
TESTS += wrapper_mpich_test
endif
endif
