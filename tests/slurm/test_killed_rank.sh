#!/bin/bash
# A rank that is killed with SIGKILL in mid-run under srun on two nodes, with the real library and drainer:
# what it did until then is in the trace, and the report says that rank 1 ended by signal 9.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/slurm_case.sh"
[ -x "$STAGE/bin/slurmscope" ] || { fail "$STAGE/bin/slurmscope is missing"; exit 1; }
use_plugin ""

cat >victim.c <<'C'
#include <mpi.h>
#include <signal.h>
int main(int argc, char **argv) {
  int rank, value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 100; i++)
    MPI_Sendrecv_replace(&value, 1, MPI_INT, 1 - rank, 1, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) raise(SIGKILL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
C

tested=0
for mpi in openmpi mpich; do
  [ -e "$STAGE/lib/slurmscope/slurmscope-$mpi.so" ] && command -v "mpicc.$mpi" >/dev/null || continue
  mpicc."$mpi" -o "victim-$mpi" victim.c || { fail "victim.c does not compile with $mpi"; continue; }
  [ $mpi = openmpi ] && type=pmix || type=pmi2
  tested=$((tested + 1))
  run=run-$mpi
  timeout 90 srun --kill-on-bad-exit=1 --slurmscope="trace,output=$work/$run" --mpi=$type -N2 -n2 "./victim-$mpi" >"$run.out" 2>&1
  code=$?
  # Slurm ends the other rank by SIGKILL or, if it gets there first, SIGTERM; the higher code is srun's.
  [ $code = 137 ] || same "$mpi: exit code of srun" $code 143
  "$STAGE/bin/slurmscope" report "$run" >"$run.txt" 2>&1 || fail "$mpi: no report: $(head -c 500 "$run.txt")"
  contains "$run.txt" '^ *1 .*signal 9 (Killed)'
  "$STAGE/bin/slurmscope" report --json "$run" >"$run.json" || { fail "$mpi: no JSON"; continue; }
  counts=$(/usr/bin/python3 -c '
import json, sys
for rank in json.load(open(sys.argv[1]))["ranks"]:
    print(rank["rank"], sum(c["count"] for c in rank["calls"] if c["name"] == "MPI_Sendrecv_replace"))' "$run.json")
  same "$mpi: calls before the kill" "$counts" $'0 100\n1 100'
done
[ $tested -gt 0 ] || { echo "no MPI to test with"; exit 77; }
