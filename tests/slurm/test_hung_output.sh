#!/bin/bash
# The output directory hangs (a frozen file system: every write to it sleeps and cannot be killed): the program ends as
# ever, the step at most `wait` and a few seconds later, the node stays usable, and when the file system is back the
# drainer ends by itself. (K22, L6)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

on_node() { "$tests/cluster" exec "$TEST_CLUSTER" bm1 "$@"; }
skip() { echo "$*"; trap - EXIT; use_plugin "libdir=$lib"; exit 77; }
for tool in mkfs.ext4 fsfreeze; do command -v $tool >/dev/null || skip "$tool is missing"; done
truncate -s 16M disk
mkfs.ext4 -q disk || skip "no ext4"
mkdir -m 777 mounted
on_node mount -o loop disk "$work/mounted" 2>/dev/null || skip "no loop device here"
thaw() { on_node fsfreeze -u "$work/mounted" 2>/dev/null; }
trap 'thaw; on_node umount -l "$work/mounted"; finish' EXIT
chmod 755 "$work"
on_node chmod 1777 "$work/mounted"
"${CC:-cc}" -O1 -o worker "$tests/worker.c" || { fail "worker.c does not compile"; exit 1; }
use_plugin "wait=2"

# Frozen between the first write of the trace and the rest.
"$tests/cluster" exec "$TEST_CLUSTER" -u nobody login timeout 100 srun -w bm1 -n2 \
  --slurmscope="trace,io_calls=1,ring_kib=64,output=$work/mounted/run" ./worker 40000 wait "$work/go" >out 2>err &
srun=$!
until on_node sh -c "[ -s $work/mounted/run/step0.bm1.sst ]"; do
  kill -0 $srun 2>/dev/null || { fail "the step ended before it had a trace: $(cat err)"; exit 1; }
  sleep 0.1
done
on_node fsfreeze -f "$work/mounted" || { fail "couldn't freeze"; exit 1; }
before=$SECONDS
touch go
wait $srun
same "exit code" $? 5
took=$((SECONDS - before))
[ $took -lt 40 ] || fail "the step took $took s more"
same "output" "$(sort out | xargs)" "done 0 done 1"
same "lines of ours" "$(grep -c slurmscope: err)" 1
contains err "not written yet after 2 s"
# Other steps of the node go on.
same "another step" "$(timeout 30 srun -w bm1 echo works)" works

on_node sh -c 'ls -d /dev/shm/slurmscope-65534-*' >/dev/null || fail "no spool is left to go on with"
thaw || fail "couldn't thaw"
for ((i = 0; i < 300; i++)); do
  on_node sh -c 'ls -d /dev/shm/slurmscope-65534-* 2>/dev/null; pgrep -x slurmscope-drai' >left || true
  [ -s left ] || break
  sleep 0.1
done
nothing_left
"$tests/cluster" exec "$TEST_CLUSTER" bm1 "$STAGE/bin/slurmscope" report "$work/mounted/run" >page 2>&1 || fail "no report afterwards: $(cat page)"
