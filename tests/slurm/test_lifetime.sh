#!/bin/bash
# The drainer's life, and slurmstepd's cleanliness: scancel, killed tasks, children left behind, mpirun. (K13, K16)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

mkfifo started  # of the kernel, so it reaches from node to node

# Killed tasks and a step that is cancelled: the drainer outlives them and gets their statuses.
submit --slurmscope -n2 -N1 -- 'srun --kill-on-bad-exit=0 sh -c "[ \$SLURM_PROCID = 0 ] || kill -9 \$\$"
srun -n1 sh -c "echo >started; exec sleep 60" &
read -r <started
scancel -s KILL $SLURM_JOB_ID.1; wait'
contains "slurmscope-$job/step0.bm1.sst" '^task=1 pid=[0-9]* status=9$'
contains "slurmscope-$job/step0.bm1.sst" '^task=0 pid=[0-9]* status=0$'
contains "slurmscope-$job/step1.bm1.sst" '^task=0 pid=[0-9]* status=9$'
for step in batch step0 step1; do contains "slurmscope-$job/$step.bm1.sst" '^drainer=alive$'; done

# A whole job cancelled in mid-run.
printf '#!/bin/bash\necho >started\nsleep 60\n' >long.sh
job=$(timeout 30 sbatch --parsable --slurmscope -o out-long long.sh)
read -r -t 30 <>started
scancel "$job"
wait_job "$job"
contains "slurmscope-$job/batch.bm1.sst" '^drainer=alive$'

# slurmstepd of a profiled step has the threads and descriptors of an unprofiled one.
look='pid=$PPID; until [ "$(cat /proc/$pid/comm)" = slurmstepd ]; do pid=$(awk "/PPid/ {print \$2}" /proc/$pid/status); done
echo "$(ls /proc/$pid/task | wc -l) threads"; for f in /proc/$pid/fd/*; do readlink $f; done | sed "s/[0-9]\{2,\}//g" | sort'
timeout 30 srun -n1 sh -c "$look" >without
timeout 30 srun -n1 --slurmscope sh -c "$look" >with
diff without with || fail "the plugin left something in slurmstepd"

# mpirun in a batch script: the ranks of every node have a spool that exists there (mpiexec of MPICH passes
# the script's own variables on).
for mpirun in mpirun.openmpi mpirun.mpich; do
  command -v $mpirun >/dev/null || continue
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    submit --slurmscope -N2 -n2 -- "$mpirun -n 2 sh -c 'echo \$(hostname) \$(ls \$SLURMSCOPE_SPOOL/step.info | wc -l) \$(sed -n s/^host=//p \$SLURMSCOPE_SPOOL/step.info)'"
  same "$mpirun: node, spools, their node" "$(sort "$out" | xargs)" "bm1 1 bm1 bm2 1 bm2"
done
nothing_left
