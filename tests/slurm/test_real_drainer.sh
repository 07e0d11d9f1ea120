#!/bin/bash
# With the installed library and drainer instead of the stand-ins: from sbatch to files that decode. (K16, L7, L14)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

drainer=$STAGE/lib/slurmscope/slurmscope-drain
[ -e "$drainer" ] || { echo "no drainer in $STAGE"; trap - EXIT; exit 77; }
use_plugin

# Shell commands only: no file, no line, and the batch step's drainer lives as long as the script does.
submit --slurmscope -- 'ls >ls.out; srun true; srun hostname >host.out; [ -d $SLURMSCOPE_SPOOL ] && echo there'
same "output of a job of shell commands" "$(cat "$out")" there
no_traces "slurmscope-$job"

cat >sums.c <<'END'
#include <mpi.h>
int main(int count, char **words) {
  int rank, sum;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 100; i++) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return rank;
}
END
for mpi in openmpi:pmix mpich:pmi2; do
  command -v "mpicc.${mpi%:*}" >/dev/null || continue
  "mpicc.${mpi%:*}" sums.c -o sums || fail "couldn't compile with mpicc.${mpi%:*}"
  chmod 777 .
  job=$("$tests/cluster" exec "$TEST_CLUSTER" -u nobody login timeout 30 sbatch --parsable --profile=all -N2 -n2 \
    -o out --wrap "srun --mpi=${mpi#*:} ./sums")
  wait_job "$job"
  traces "slurmscope-$job" "step0.bm1.sst step0.bm2.sst"
  for host in bm1 bm2; do
    zstd -dc "slurmscope-$job/step0.$host.sst" |
      protoc -I"$tests/../../proto" --decode=slurmscope.v1.Trace slurmscope.proto >decoded || fail "${mpi%:*}: does not decode"
    contains decoded MPI_Allreduce
  done
  # The exit status of rank 1 came through SPOOL/tasks: exit code 1 is wait status 256.
  contains decoded 'wait_status: 256'
  lacks out 'slurmscope'
  rm -f out
  # A wrapper that loses LD_PRELOAD on one rank: the report says how many left a trace. (A6)
  timeout 60 srun -w bm1 -n2 --mpi="${mpi#*:}" --slurmscope="trace,output=$work/partial-${mpi%:*}" \
    bash -c '[ $SLURM_PROCID = 1 ] && unset LD_PRELOAD; exec ./sums' >/dev/null 2>&1
  "$STAGE/bin/slurmscope" report "partial-${mpi%:*}" >page 2>&1
  contains page '1 of 2 ranks left a trace'
done
nothing_left
