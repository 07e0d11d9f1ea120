# Benchmarks: numbers, no verdict; ./check --bench runs tests/bench/run.
EXTRA_DIST += tests/bench/run tests/bench/site_default tests/bench/programs/rate_windows.h tests/bench/programs/mpi_rate.c \
  tests/bench/programs/io_rate.c
