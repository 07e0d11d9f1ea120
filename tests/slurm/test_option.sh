#!/bin/bash
# --slurmscope of sbatch, srun and salloc; what tasks get; that exit codes are the job's own. (A5, K7, K17)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

# A profiled batch script: itself and its steps, each with its own spool, traces in one folder.
submit --slurmscope=summary,io_calls=7 -N2 -n2 -J 'my job' -- '
env | grep -E "^(LD_PRELOAD|SLURMSCOPE|SLURM_SLURMSCOPE)" | sort | sed "s/^/batch: /"
mkdir -p sub; cd sub
srun -l env | grep -E ": (LD_PRELOAD|SLURMSCOPE|SLURM_SLURMSCOPE)" | sort
srun -n1 sh -c "exit 5"; echo "srun: $?"
exit 7'
same "state of the job" "$state" FAILED
contains "$out" '^srun: 5$'
scontrol -o show job "$job" | grep -q 'ExitCode=7:0' || fail "exit code of the batch script changed"
traces "slurmscope-$job" "batch.bm1.sst step0.bm1.sst step0.bm2.sst step1.bm1.sst"
no_traces sub/slurmscope-"$job"
same "mode of the folder" "$(stat -c %a "slurmscope-$job")" 700
sed -n 's/^batch: //p' "$out" >batch.env
sed "s/ *$//" >expected <<END
LD_PRELOAD=$lib/libslurmscope.so
SLURMSCOPE=summary,io_calls=7
SLURMSCOPE_SPOOL=/dev/shm/slurmscope-0-$job.batch
SLURM_SLURMSCOPE_SET=summary,io_calls=7
SLURM_SLURMSCOPE_WORKDIR=$work
END
diff expected batch.env || fail "the batch script's variables are not as expected"
for task in 0 1; do
  sed -n "s/^$task: //p" "$out" >task.env
  sed "s/\.batch/.0/" expected | diff - task.env || fail "task $task's variables are not as expected"
done
trace=slurmscope-$job/step0.bm2.sst
for line in "job=$job" step=0 'job_name=my job' user=root uid=0 host=bm2 partition=baremetal 'node_list=bm\[1-2\]' \
  nodes=2 node_id=1 tasks=2 local_tasks=1 starter=slurm settings=summary,io_calls=7 file=step0.bm2 \
  "output=$work/slurmscope-$job" "submit_dir=$work" 'command=.*env' cluster=throwaway drainer=alive starter_is=slurmstepd 'drainer_oom: 0'; do
  contains "$trace" "^$line\$"
done
contains "$trace" '^task=1 pid=[0-9]* status=0$'
contains "slurmscope-$job/step1.bm1.sst" '^task=0 pid=[0-9]* status=1280$'
contains "slurmscope-$job/batch.bm1.sst" '^task=0 pid=[0-9]* status=1792$'
same "the drainer's environment" "$(grep -c drainer_environment: "$trace")" \
  "$(grep -cE 'drainer_environment: (PATH=/usr/bin:/bin|PWD=.*|SHLVL=.*|_=.*)$' "$trace")"
same "descriptors the drainer was given" "$(sed -n 's/drainer_fds: //p' "$trace")" "0 1 2 255"

# Not asked for: nothing happens.
submit -- 'env | grep -E "LD_PRELOAD|SLURMSCOPE"; srun env | grep -E "LD_PRELOAD|SLURMSCOPE"; true'
same "an unprofiled job's variables" "$(cat "$out")" ""
no_traces "slurmscope-$job"

# A nested option wins over the inherited one, and "off" takes everything away again.
submit --slurmscope -- '
LD_PRELOAD=$LD_PRELOAD:/lib/x86_64-linux-gnu/libm.so.6 srun --slurmscope=off env | grep -E "LD_PRELOAD|^SLURMSCOPE|SLURM_SLURMSCOPE" | sort
srun --slurmscope=summary true'
same "variables of a step that is off" "$(grep -v WORKDIR "$out")" "LD_PRELOAD=/lib/x86_64-linux-gnu/libm.so.6"
traces "slurmscope-$job" "batch.bm1.sst step1.bm1.sst"
contains "slurmscope-$job/batch.bm1.sst" '^settings=trace$'
contains "slurmscope-$job/step1.bm1.sst" '^settings=summary$'

# The batch step of --export=NONE and of a list never gets the callback.
for export in NONE HOME NIL; do
  submit --slurmscope=trace,sample=9 --export="$export" -- 'echo "$SLURMSCOPE $SLURM_EXPORT_ENV"; srun /usr/bin/env'
  contains "$out" '^trace,sample=9 '
  contains "$out" '^SLURMSCOPE_SPOOL=.*\.0$'
  traces "slurmscope-$job" "batch.bm1.sst step0.bm1.sst"
done
submit --slurmscope --export=NONE -- 'echo "$SLURMSCOPE"'
same "no value, --export=NONE" "$(cat "$out")" trace

# Direct srun, with and without a value; the user's own LD_PRELOAD comes after ours, once.
for value in '' =trace; do
  LD_PRELOAD=/lib/x86_64-linux-gnu/libm.so.6 timeout 30 srun --slurmscope$value -n1 sh -c 'echo $SLURM_JOB_ID $LD_PRELOAD $SLURMSCOPE' >out
  same "srun --slurmscope$value" "$(cut -d' ' -f2- out)" "$lib/libslurmscope.so:/lib/x86_64-linux-gnu/libm.so.6 trace"
  traces "slurmscope-$(cut -d' ' -f1 out)" "step0.bm1.sst"
done
timeout 30 srun --slurmscope sh -c 'exit 9'
same "srun's exit code" $? 9

# salloc: its command runs here, unprofiled; the steps are profiled.
timeout 30 salloc -Q --slurmscope=summary -n1 sh -c 'echo "$SLURM_JOB_ID [$SLURMSCOPE]"; srun sh -c "echo \$SLURMSCOPE"' >out
same "salloc --slurmscope" "$(cut -d' ' -f2 out | xargs)" "[] summary"
traces "slurmscope-$(head -n 1 out | cut -d' ' -f1)" "step0.bm1.sst"

nothing_left
