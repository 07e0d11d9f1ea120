#!/bin/bash
# A normal user's job: files are his, root touches nothing of his, a hostile environment stays data. (K10, K23)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

as_nobody() { "$tests/cluster" exec "$TEST_CLUSTER" -u nobody login "$@"; }

job=$(as_nobody timeout 30 sbatch --parsable --slurmscope -o out -N2 -n2 -J $'a\nuid=0' --wrap 'srun id -u')
wait_job "$job"
same "output of the tasks" "$(xargs <out)" "65534 65534"
traces "slurmscope-$job" "batch.bm1.sst step0.bm1.sst step0.bm2.sst"
same "owner" "$(stat -c '%U %a' "slurmscope-$job")" "nobody 700"
contains "slurmscope-$job/step0.bm1.sst" '^uid=65534$'
contains "slurmscope-$job/step0.bm1.sst" '^spool=/dev/shm/slurmscope-65534-'
contains "slurmscope-$job/step0.bm1.sst" '^job_name=a?uid=0$'

# What root could write, the user can't.
mkdir closed
as_nobody timeout 30 srun --slurmscope="trace,output=$work/closed/x" true 2>err
same "exit code" $? 0
contains err "couldn't make $work/closed/x"
same "files in a directory of root" "$(ls closed)" ""

# Variables that look like the plugin's own.
as_nobody env SLURMSCOPE_SPOOL=/etc SLURM_SLURMSCOPE_SET=x SLURM_SLURMSCOPE_WORKDIR=/root \
  timeout 30 srun --slurmscope sh -c 'echo "$SLURMSCOPE_SPOOL"' >out 2>err
contains out '^/dev/shm/slurmscope-65534-'
contains err "couldn't make /root/"
as_nobody env LD_PRELOAD="$(printf 'x%.0s' {1..6000})" BIG="$(printf 'y%.0s' {1..100000})" \
  timeout 30 srun --slurmscope sh -c 'echo "${#LD_PRELOAD} ${#BIG}"' >out 2>/dev/null
same "long values" "$(cat out)" "$((6000 + 1 + ${#lib} + 17)) 100000"
nothing_left
