# The throw-away Slurm cluster and the script tests that need it; ./check calls tests/slurm/run_all.
EXTRA_DIST += tests/slurm/cluster tests/slurm/run_all tests/slurm/slurm_case.sh tests/slurm/stand_in_drain tests/slurm/test_clocks.sh \
  tests/slurm/test_broken_plugin.sh tests/slurm/test_full_output.sh tests/slurm/test_hung_output.sh tests/slurm/test_killed_rank.sh \
  tests/slurm/test_lifetime.sh tests/slurm/test_limits.sh tests/slurm/test_mpi.sh tests/slurm/test_names.sh tests/slurm/test_option.sh tests/slurm/test_planted.sh \
  tests/slurm/test_profile.sh tests/slurm/test_real_drainer.sh tests/slurm/test_salvage.sh tests/slurm/test_site.sh \
  tests/slurm/test_trouble.sh tests/slurm/test_user.sh tests/slurm/worker.c
