# shellcheck shell=bash disable=SC2034  # variables for the tests
# Shared by tests/slurm/test_*.sh; sourced. run_all provides the cluster and these variables:
#   SLURM_CONF, TEST_CLUSTER (its directory), STAGE (where `make install` went)
# The plugin under test is STAGE's; the library and the drainer that it finds are stand-ins in $lib, so that
# a "trace" is a text file that shows what the plugin did. Every test works in a directory of its own.
set -u

tests=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
lib=$TEST_CLUSTER/lib
plugin=$STAGE/lib/slurmscope/slurmscope.so
name=$(basename "$0" .sh)
work=$(mktemp -d "$TEST_CLUSTER_WORK/$name.XXXX")
chmod 777 "$work"
cd "$work" || exit 1
failures=0

# What a user may have in his shell must not decide a test.
unset SLURM_PROFILE SLURMSCOPE SLURMSCOPE_SPOOL LD_PRELOAD

fail() {
  echo "$name: $*" >&2
  failures=$((failures + 1))
}
finish() {
  rm -f "$lib/refuse" "$lib/hang"
  chmod 644 "$lib/libslurmscope.so"
  use_plugin "libdir=$lib"
  [ "$failures" -eq 0 ]
  exit $?  # a bare `exit` in a trap keeps the status from before it
}
trap finish EXIT

# Sets the plugin's line: its arguments. Read by every command and every step that starts from now on.
use_plugin() {
  echo "optional $plugin $*" >"$TEST_CLUSTER/etc/plugstack.conf.new"
  mv "$TEST_CLUSTER/etc/plugstack.conf.new" "$TEST_CLUSTER/etc/plugstack.conf"
}

wait_job() { "$tests/cluster" wait "$TEST_CLUSTER" 60 "$@" || {
  fail "jobs $* did not end"
  scancel "$@"  # its nodes are wanted by the next test
}; }

# submit [sbatch options] -- script text: runs it as a job to its end; sets `job`, `out` (its output file)
# and `state` (COMPLETED, FAILED...).
submit() {
  local options=()
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  printf '#!/bin/bash\n%s\n' "$2" >job.sh
  job=$(timeout 30 sbatch --parsable -n1 -o 'out-%j' "${options[@]}" job.sh)
  [ -n "$job" ] || { fail "sbatch ${options[*]} failed"; return; }
  wait_job "$job"
  out=out-$job
  state=$(scontrol -o show job "$job" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p' | head -n 1)
}

same() { [ "$2" = "$3" ] || fail "$1: expected '$3', found '$2'"; }
contains() { grep -qe "$2" "$1" || fail "no '$2' in $1: $(head -c 600 "$1")"; }
lacks() { ! grep -qe "$2" "$1" || fail "'$2' in $1: $(grep -e "$2" "$1" | head -n 3)"; }
# traces DIRECTORY "a.sst b.sst": exactly these.
traces() { same "traces in $1" "$(cd "$1" 2>/dev/null && echo *.sst)" "$2"; }
no_traces() { [ ! -e "$1" ] || fail "$1 exists: $(ls "$1")"; }
# No spool and no drainer may be left on a node.
nothing_left() {
  local node left
  for node in bm1 bm2 vm1 vm2; do
    left=$("$tests/cluster" exec "$TEST_CLUSTER" "$node" sh -c 'ls -d /dev/shm/slurmscope-* 2>/dev/null; pgrep -lx sleep; pgrep -lx slurmscope-drai')
    [ -z "$left" ] || fail "left on $node: $left"
  done
}
