# Tests of the command line: tests/cli/test_* are scripts that run on a staged installation.
EXTRA_DIST += tests/cli/test_cli tests/cli/test_record_trouble tests/cli/test_recording tests/cli/test_salvage \
  tests/cli/phased.c tests/cli/test_salvage_losses tests/cli/salvage_writes.c tests/cli/cases tests/golden
