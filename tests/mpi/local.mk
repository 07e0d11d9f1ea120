# Tests of the MPI side with real programs: test_known_rings (preload alone), the others end to end.
EXTRA_DIST += tests/mpi/check_idle tests/mpi/idle.c tests/mpi/test_idle tests/mpi/remaps.c tests/mpi/test_memory_hooks \
  tests/mpi/check_clocks tests/mpi/clocks.c tests/mpi/test_clocks \
  tests/mpi/check_report tests/mpi/expected.json tests/mpi/known.c tests/mpi/known.F90 \
  tests/mpi/lib.sh tests/mpi/ring_report.cc tests/mpi/test_known tests/mpi/test_known_rings tests/mpi/test_thrown \
  tests/mpi/thrown.cc tests/mpi/polls.c tests/mpi/test_polls \
  tests/mpi/check_sites tests/mpi/sites.c tests/mpi/sites.F90 tests/mpi/test_sites \
  tests/mpi/matrix.c tests/mpi/matrix.json tests/mpi/test_matrix \
  tests/mpi/sessions.c tests/mpi/sessions.json tests/mpi/test_sessions \
  tests/mpi/sentinels.F90 tests/mpi/sentinels.json tests/mpi/manglings.c tests/mpi/manglings.json tests/mpi/test_bindings \
  tests/mpi/requests.c tests/mpi/requests.json tests/mpi/communicators.c tests/mpi/communicators.json \
  tests/mpi/files.c tests/mpi/files.json tests/mpi/queries.c tests/mpi/queries.json tests/mpi/test_semantics \
  tests/mpi/threads.c tests/mpi/threads.json tests/mpi/test_threads \
  tests/mpi/reached.c tests/mpi/reached.json tests/mpi/local.py tests/mpi/local.py.json tests/mpi/second_tool.c \
  tests/mpi/static.c tests/mpi/without.c tests/mpi/test_loading \
  tests/mpi/connected.c tests/mpi/connected.json tests/mpi/spawned.c tests/mpi/test_worlds
