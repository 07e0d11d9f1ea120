# tests/sampler/test_* build their own host and programs; see lib.sh.
EXTRA_DIST += tests/sampler/lib.sh tests/sampler/sampler_host.cc tests/sampler/test_stacks \
  tests/sampler/test_counters tests/sampler/test_unchanged \
  tests/sampler/programs/stacks.cc tests/sampler/programs/storm.cc \
  tests/sampler/programs/software_events.c tests/sampler/programs/papi_user.c \
  tests/sampler/test_record tests/sampler/programs/counted_mpi.c \
  tests/sampler/programs/unchanged.c tests/sampler/programs/takes_signal.c tests/sampler/programs/same_names.c
