# Checks of the sources and of the installed objects; see each script.
EXTRA_DIST += tests/lint/test_layers tests/lint/test_sources tests/lint/test_linkage \
  tests/lint/test_mpi_coverage tests/lint/mpi_exceptions
