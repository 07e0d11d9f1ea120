# Random kills, many times; ./check --soak runs them.
EXTRA_DIST += tests/soak/counted.c tests/soak/kill_slurmstepd.py tests/soak/soaking.py tests/soak/test_drainers \
  tests/soak/late.c tests/soak/test_late tests/soak/test_ranks tests/soak/test_slurmstepd
