#!/bin/bash
# An ordinary user plants links, hard links, FIFOs and directories under every name that root's jobs are going to use,
# before and while they run: in the spool's directory, in /tmp, and in a directory that all may write. Nothing outside
# is made, read, changed or waited for, and root's jobs are recorded. (L1, K23, L2)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

use_plugin ""
"${CC:-cc}" -O1 -o worker "$tests/worker.c" || { fail "worker.c does not compile"; exit 1; }
as_nobody() { "$tests/cluster" exec "$TEST_CLUSTER" -u nobody bm1 "$@"; }
mkdir -m 700 dear
echo precious >dear/file
mkdir -m 1777 open
first=$(timeout 30 srun -w bm1 sh -c 'echo $SLURM_JOB_ID')

# Before: the names of the next jobs' spools and run folders, as every kind of trap in turn.
cat >plant.sh <<'END'
work=$1 first=$2
for job in $(seq "$first" $((first + 12))); do
  for name in /dev/shm/slurmscope-0-$job.0 /dev/shm/slurmscope-0-$job.batch /tmp/slurmscope-0-$job.0 "$work/open/run-$job"; do
    case $((job % 4)) in
      0) ln -s "$work/dear" "$name" ;;
      1) ln -s "$work/dear/file" "$name" ;;
      2) mkfifo "$name" ;;
      3) mkdir -m 777 "$name" && ln -s "$work/dear/file" "$name/step0.bm1.sst" && mkfifo "$name/step.info" ;;
    esac
  done
done
END
as_nobody bash "$work/plant.sh" "$work" "$first" 2>/dev/null

# During: what is there is replaced all the time.
cat >race.sh <<'END'
work=$1 first=$2
exec 2>/dev/null
while [ ! -e "$work/over" ]; do
  for job in $(seq $((first + 1)) $((first + 16))); do
    for name in /dev/shm/slurmscope-0-$job.0 "/dev/shm/slurmscope-0-$job.0~2" "$work/open/run-$job"; do
      rm -rf "$name"
      ln -s "$work/dear" "$name"
      [ -d "$name/." ] && ln -s "$work/dear/file" "$name/step0.bm1.sst"
    done
  done
done
END
as_nobody bash "$work/race.sh" "$work" "$first" &
racer=$!
for ((i = 0; i < 12; i++)); do
  timeout 60 srun -w bm1 --slurmscope="trace,io_calls=1,output=$work/open/run-%j" ./worker 2000 >out 2>err
  same "exit code" $? 5
  same "output" "$(cat out)" "done 0"
  [ "$(grep -c slurmscope: err)" -le 1 ] || fail "more than one line: $(cat err)"
done
touch over
wait $racer
same "what is in the directory behind the links" "$(ls -A dear; cat dear/file)" "$(printf 'file\nprecious')"
[ ! -e /etc/step.info ] || fail "a file was made in /etc"

# One that is his own does not lie in the way of the next either.
rm -rf open/run-*
timeout 60 srun -w bm1 --slurmscope="trace,io_calls=1,output=$work/open/mine" ./worker 2000 >out 2>err
traces open/mine step0.bm1.sst
same "modes" "$(stat -c '%U %a' open/mine open/mine/step0.bm1.sst | xargs)" "root 700 root 600"

# Whatever the umask of the job is.
for mask in 000 777; do
  (umask $mask; timeout 60 srun -w bm1 --slurmscope="trace,io_calls=1,output=$work/masked-$mask" ./worker 2000 >/dev/null 2>&1)
  same "modes with umask $mask" "$(stat -c %a masked-$mask masked-$mask/step0.bm1.sst | xargs)" "700 600"
done
# A site's group, of which the user is a member, or which owns the directory.
use_plugin default=trace,io_calls=1,group=nogroup "output=$work/open/g-%j"
"$tests/cluster" exec "$TEST_CLUSTER" -u nobody login timeout 60 srun -w bm1 ./worker 2000 >out 2>err
same "modes with a group" "$(stat -c '%U %G %a' open/g-*/ open/g-*/step0.bm1.sst | xargs)" "nobody nogroup 750 nobody nogroup 640"
mkdir -m 3777 given && chgrp daemon given && chmod 3777 given
use_plugin default=trace,io_calls=1,group=daemon "output=$work/given/%j"
"$tests/cluster" exec "$TEST_CLUSTER" -u nobody login timeout 60 srun -w bm1 ./worker 2000 >out 2>err
same "modes in a directory of the group" "$(stat -c '%U %G %a' given/*/ given/*/step0.bm1.sst | xargs)" "nobody daemon 2750 nobody daemon 640"
as_nobody sh -c 'rm -rf /dev/shm/slurmscope-0-* /tmp/slurmscope-0-*'
nothing_left
