#!/bin/bash
# Two nodes of the cluster have the same hardware clock: what the messages of an MPI program say about their clocks
# must be no offset within the error, and no message may arrive before it was sent. (H2)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/slurm_case.sh"
mpi_tests=$(readlink -f "$tests/../mpi")
[ -x "$STAGE/bin/slurmscope" ] || { fail "$STAGE/bin/slurmscope is missing"; exit 1; }
use_plugin ""

tested=0
for mpi in openmpi mpich; do
  [ -e "$STAGE/lib/slurmscope/slurmscope-$mpi.so" ] && command -v "mpicc.$mpi" >/dev/null || continue
  mpicc.$mpi -w -O1 -o "clocks-$mpi" "$mpi_tests/clocks.c" || { fail "clocks.c does not compile with $mpi"; continue; }
  [ $mpi = openmpi ] && type=pmix || type=pmi2
  tested=$((tested + 1))
  run=run-$mpi
  if ! timeout 60 srun --slurmscope="trace,output=$work/$run" --mpi=$type -N2 -n2 "./clocks-$mpi" >"$run.out" 2>&1; then
    fail "$run failed: $(head -c 500 "$run.out")"
    continue
  fi
  "$STAGE/bin/slurmscope" report --json "$run" >"$run.json" || { fail "$run: no report"; continue; }
  differences=$("$mpi_tests/check_clocks" nodes "$run.json") || fail "$run: $differences"
done
[ $tested -gt 0 ] || { echo "no MPI to test with"; exit 77; }
