#!/bin/bash
# Slurm's own --profile: through SLURM_PROFILE from sbatch and salloc, and from srun's own command line. (K4, K5, K6)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

for value in task Task all network; do
  submit --profile=$value -- 'echo "$SLURM_PROFILE $SLURMSCOPE"'
  same "sbatch --profile=$value" "$(cut -d' ' -f2 "$out")" trace
  traces "slurmscope-$job" batch.bm1.sst
done
submit --profile=none -- 'echo "$SLURM_PROFILE [$SLURMSCOPE]"; srun true'
same "sbatch --profile=none" "$(cat "$out")" "None []"
no_traces "slurmscope-$job"

# A nested none switches off, in every spelling, and an own --slurmscope is nearer than an own --profile.
submit --profile=all --export=NONE -- '
srun --profile=none /usr/bin/env
srun --prof None /usr/bin/env
srun -J x --profile=NONE -- /usr/bin/env
srun --profile=none --slurmscope=summary /usr/bin/true
srun /usr/bin/env --profile=none true
srun /bin/sh -c "echo step \$SLURM_STEP_ID \$SLURMSCOPE" --profile=none'
lacks "$out" '^SLURMSCOPE'
lacks "$out" '^LD_PRELOAD=.*slurmscope'
lacks "$out" 'SLURM_SLURMSCOPE_PROFILE'
contains "$out" 'unrecognized option .--profile=none'
contains "$out" '^step 5 trace$'
traces "slurmscope-$job" "batch.bm1.sst step3.bm1.sst step4.bm1.sst step5.bm1.sst"
contains "slurmscope-$job/step3.bm1.sst" '^settings=summary$'

# --slurmscope of the job, and a nested --profile=none: what stands on the nearest command line counts.
submit --slurmscope -- 'srun --profile=none true; srun true'
traces "slurmscope-$job" "batch.bm1.sst step1.bm1.sst"
# Both on one line: --slurmscope says it more exactly.
submit --slurmscope=summary --profile=all -- 'echo $SLURMSCOPE'
same "sbatch with both" "$(cat "$out")" summary

# A direct srun exports nothing of its --profile by itself.
for flags in --profile=task "--profile All" "--profile=task --export=NONE" "--profile=all --export=A=1"; do
  # shellcheck disable=SC2086  # several words
  timeout 30 srun $flags -n1 /bin/sh -c 'echo "$SLURM_JOB_ID $SLURMSCOPE [$SLURM_PROFILE]"' >out
  same "srun $flags" "$(cut -d' ' -f2- out)" "trace []"
  traces "slurmscope-$(cut -d' ' -f1 out)" step0.bm1.sst
done
timeout 30 srun -n1 /bin/echo --profile=task >out
same "a command's own --profile" "$(cat out)" "--profile=task"

timeout 30 salloc -Q --profile=task -n1 srun sh -c 'echo "$SLURM_JOB_ID $SLURMSCOPE"' >out
same "salloc --profile" "$(cut -d' ' -f2 out)" trace
traces "slurmscope-$(cut -d' ' -f1 out)" step0.bm1.sst
nothing_left
