#!/bin/bash
# An output directory that is full, over quota, read-only, not there, deleted in mid-run or behind a limit on file
# sizes; a small and a private /dev/shm; little memory. With the real library and drainer, as an ordinary user: exit
# code and output are those of the program, stderr has at most one line for the step. (K18, K21, K23, L3, L4, L5)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

use_plugin ""
"${CC:-cc}" -O1 -o worker "$tests/worker.c" || { fail "worker.c does not compile"; exit 1; }
report=$STAGE/bin/slurmscope
on_node() { "$tests/cluster" exec "$TEST_CLUSTER" bm1 "$@"; }
as_nobody() { "$tests/cluster" exec "$TEST_CLUSTER" -u nobody login "$@"; }

# run WHAT OUTPUT [srun flags --] [command]: two ranks on bm1; checks what the program did and the lines of ours.
run() {
  local what=$1 output=$2 flags=()
  shift 2
  if [ "${1-}" = flags ]; then
    while shift && [ "$1" != -- ]; do flags+=("$1"); done
    shift
  fi
  [ $# -gt 0 ] || set -- ./worker 20000
  as_nobody timeout 60 srun --slurmscope="trace,io_calls=1,output=$output" -w bm1 -n2 "${flags[@]}" "$@" >out 2>err
  same "$what: exit code" $? 5
  same "$what: output" "$(sort out | xargs)" "done 0 done 1"
  awk '!/^srun: / || /slurmscope/' err >ours  # srun tells of exit codes, and of pauses of the machine
  [ "$(wc -l <ours)" -le 1 ] || fail "$what: more than one line: $(head -c 800 ours)"
}
said() { contains ours "$1"; }

run "a good directory" "$work/good"
same "lines when all is well" "$(cat ours)" ""
same "owner and modes" "$(stat -c '%U %a' good good/step0.bm1.sst | xargs)" "nobody 700 nobody 600"

mkdir -m 777 small
on_node mount -t tmpfs -o size=16k,mode=1777 tmpfs "$work/small"
run "ENOSPC" "$work/small/run" ./worker 400000
said 'No space left'
for file in $(on_node sh -c "ls $work/small/run/*.sst 2>/dev/null"); do
  on_node "$report" verify "$file" >verified 2>&1 || { [ $? = 1 ] && ! grep -q 'crash\|Aborted' verified; } || fail "what was written does not verify: $(cat verified)"
done
on_node umount -l "$work/small"

mkdir -m 777 fixed
on_node mount -t tmpfs -o ro tmpfs "$work/fixed"
run "read-only" "$work/fixed/run"
said 'Read-only file system'
on_node umount -l "$work/fixed"

run "/proc" /proc/run
said "couldn't finish the trace: .*/proc/run"
run "/nonexistent" /nonexistent/run
said '/nonexistent'
run "a directory of root" /root/slurmscope-test
said '/root'
[ ! -e /root/slurmscope-test ] || fail "something was made as root"

run "deleted in mid-run" "$work/gone" ./worker 40000 rm "$work/gone"
said "was deleted while the step ran"
no_traces gone

# The job's own limit on file sizes, hard and zero: neither ranks nor drainer die, nor does it grow what they write.
for limit in 0 16; do
  rm -rf limited
  run "ulimit -f $limit" "$work/limited" sh -c "ulimit -f $limit; exec ./worker 20000"
done
# Passed on by srun from the shell of the user, as Slurm does.
(ulimit -S -f 8; as_nobody timeout 60 srun --slurmscope="trace,io_calls=1,output=$work/soft" -w bm1 -n2 ./worker 20000 >soft.out 2>soft.err)
same "propagated RLIMIT_FSIZE: output" "$(sort soft.out | xargs)" "done 0 done 1"

# The task's own /dev/shm and /tmp: nothing is recorded, nothing is printed by the program's processes.
mkdir -m 777 private
places=/dev/shm
case $STAGE in /tmp/*) ;; *) places="$places /tmp" ;; esac  # the library itself must stay in sight
if as_nobody timeout 60 srun -w bm1 -n1 unshare -rm true 2>/dev/null; then  # not in a chroot
  run "private /dev/shm" "$work/private/run" \
    unshare -rm sh -c "for place in $places; do mount -t tmpfs x \$place || exit; done; exec ./worker 20000"
else
  echo "private /dev/shm: users may not make name spaces here: left out"
fi

# A spool without room: the program is not recorded, and the end says so.
on_node mount -o remount,size=64k /dev/shm
run "full /dev/shm" "$work/crowded"
on_node mount -o remount,size=50% /dev/shm

# Little address space, and a small memory cgroup if there is one to have.
run "ulimit -v" "$work/tight" sh -c 'ulimit -v 40000; exec ./worker 20000'
group=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)/slurmscope-$$
if mkdir "$group" 2>/dev/null && echo 16M >"$group/memory.limit_in_bytes"; then
  chmod 666 "$group/cgroup.procs"
  run "16 MiB of memory" "$work/cell" sh -c "echo \$\$ >$group/cgroup.procs; exec ./worker 200000"
  rmdir "$group" || fail "the memory cgroup is still in use"
else
  echo "no memory cgroup can be made here: left out"
fi
nothing_left
