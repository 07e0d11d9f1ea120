#!/bin/bash
# Steps, arrays, requeues and heterogeneous jobs: nothing collides, nothing is lost. (K19, K20, L1)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

submit --slurmscope -n2 -N1 -- 'srun -n1 --exact sleep 0.5 & srun -n1 --exact sleep 0.5; wait'
traces "slurmscope-$job" "batch.bm1.sst step0.bm1.sst step1.bm1.sst"

submit --slurmscope -a 3-4 -- 'echo $SLURM_JOB_ID > id-$SLURM_ARRAY_TASK_ID'
for task in 3 4; do
  trace=$(echo "slurmscope-$(cat id-$task)"/batch.bm?.sst)  # bm1 or bm2
  for line in "array_job=$job" "array_task=$task" step=batch; do contains "$trace" "^$line\$"; done
done
[ "$(cat id-3)" != "$(cat id-4)" ] || fail "array tasks share a job id"

# Requeued: same id, the first run's files stay. Slurm does not tell the plugin of a batch step which run it is.
submit --slurmscope --requeue -- '[ -e again ] || { touch again; scontrol requeue $SLURM_JOB_ID; sleep 30; }; srun true'
traces "slurmscope-$job" "batch.bm1.2.sst batch.bm1.sst step0.bm1.restart1.sst"
contains "slurmscope-$job/step0.bm1.restart1.sst" '^restart=1$'
contains "slurmscope-$job/batch.bm1.sst" '^drainer=alive$'

# A heterogeneous job: both components under the leader's id, told apart, numbered through.
printf '#!/bin/bash\n#SBATCH -n1 -p baremetal\n#SBATCH hetjob\n#SBATCH -n1 -p virtual\nsrun --het-group=0,1 hostname\n' >het.sh
job=$(timeout 30 sbatch --parsable --slurmscope -o out-het het.sh)
wait_job "$job"
traces "slurmscope-$job" "batch.bm1.het0.sst step0.bm1.het0.sst step0.vm1.het1.sst"
contains "slurmscope-$job/step0.vm1.het1.sst" '^het_group=1$'
contains "slurmscope-$job/step0.vm1.het1.sst" '^task=1 '

# The spool's name is taken, by something hostile: it is left alone.
"$tests/cluster" exec "$TEST_CLUSTER" bm1 sh -c 'for n in $(seq 1 400); do ln -s /etc /dev/shm/slurmscope-0-$n.0; done'
timeout 30 srun --slurmscope -w bm1 sh -c 'echo $SLURM_JOB_ID $SLURMSCOPE_SPOOL' >out
read -r job spool <out
same "spool" "$spool" "/dev/shm/slurmscope-0-$job.0~2"
traces "slurmscope-$job" step0.bm1.sst
[ ! -e /etc/step.info ] || fail "written through a planted link"
"$tests/cluster" exec "$TEST_CLUSTER" bm1 sh -c 'rm /dev/shm/slurmscope-0-*'
nothing_left
