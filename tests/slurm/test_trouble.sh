#!/bin/bash
# Everything that can be broken: the job runs, its exit code is its own, one line says what is wrong. (A3, K3, K12)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

# run: a direct srun that asked for a profile; `err` is what it printed to stderr.
run() {
  timeout 60 srun --slurmscope "$@" sh -c 'echo "[$LD_PRELOAD$SLURMSCOPE]"; exit 3' >out 2>err
  same "exit code" $? 3
}
unprofiled() {
  same "variables" "$(cat out)" "[]"
  same "lines on stderr" "$(grep -c slurmscope: err)" 1
  contains err "$1"
}

chmod 000 "$lib/libslurmscope.so"
mkdir "$work/private" && cp "$lib"/* "$work/private" && chmod 700 "$work/private"
use_plugin "libdir=$work/none"; run; unprofiled 'libslurmscope.so as the job.s user: No such file'
use_plugin "libdir=$work/private"
"$tests/cluster" exec "$TEST_CLUSTER" -u nobody login timeout 30 srun --slurmscope sh -c 'echo "[$LD_PRELOAD]"' >out 2>err
unprofiled "private/libslurmscope.so.*Permission denied"
chmod 644 "$lib/libslurmscope.so"
use_plugin "libdir=$lib"

touch "$lib/refuse"; run; unprofiled "couldn't start the drainer: drain: refused for a test (exit code 3)"; rm "$lib/refuse"
use_plugin "libdir=$lib" spool=/no/such/spool; run; unprofiled "couldn't make the spool directory /no/such/spool"
nothing_left

# The drainer can't write: said at the end.
use_plugin "libdir=$lib"
touch file
run --slurmscope="trace,output=$work/file/x"
same "lines on stderr" "$(grep -c slurmscope: err)" 1
contains err "couldn't finish the trace: drain: couldn't make $work/file/x"
nothing_left

# The drainer hangs at the end: bounded.
use_plugin "libdir=$lib" wait=1
touch "$lib/hang"
before=$SECONDS
run
[ $((SECONDS - before)) -lt 12 ] || fail "the end took $((SECONDS - before)) s"
contains err "took longer than 3 s.*what is left is in /dev/shm/slurmscope-0"
rm "$lib/hang"
"$tests/cluster" exec "$TEST_CLUSTER" bm1 sh -c 'rm -r /dev/shm/slurmscope-0-*; kill $(pgrep -x sleep)'
use_plugin "libdir=$lib"

# A user's own mistake, at submit time, names the option.
for command in "sbatch --wrap=true" "srun true" "salloc true"; do
  # shellcheck disable=SC2086  # several words
  if timeout 30 ${command%% *} --slurmscope=trace,sample=fast ${command#* } >out 2>&1; then
    fail "$command accepted a wrong value"
  fi
  contains out "slurmscope.*sample=fast"
done
for command in srun sbatch salloc; do
  $command --help >help 2>&1
  contains help '--slurmscope=\?\[\?.*off|summary|trace'
  contains help 'time goes'
  lacks help 'onflict'
done

# Even as a required plugin.
echo "required $plugin libdir=$work/none" >"$TEST_CLUSTER/etc/plugstack.conf"
run; unprofiled 'No such file'
[ "$(sinfo -h -o %T | sort -u)" = idle ] || fail "a node is not idle: $(sinfo -h -N -o '%N %T' | xargs)"
