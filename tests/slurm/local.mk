# The throw-away Slurm cluster and the script tests that need it; ./check calls tests/slurm/run_all.
EXTRA_DIST += tests/slurm/cluster
