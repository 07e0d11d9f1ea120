#!/bin/bash
# What a site allows at most, and slurmscope.conf: a user's wish is lowered with one line for the whole step, the
# configuration counts only if nobody but root could have written it. As an ordinary user. (K15, L3)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

# ask NODES FLAGS... : SLURMSCOPE of each node's task in `got`, the lines on stderr in `err`.
ask() {
  local nodes=$1
  shift
  "$tests/cluster" exec "$TEST_CLUSTER" -u nobody login timeout 60 srun -N"$nodes" -n"$nodes" "$@" \
    sh -c 'echo "[$SLURMSCOPE]"' >out 2>err
  same "exit code of srun $*" $? 0
  got=$(sort -u out)
}

conf=$work/slurmscope.conf
cat >"$conf" <<END
# what everybody gets
default=summary
partitions=virtual
limits=max_trace_mib=64,sample=99   # and no more than this
skip=bash+git
END
chmod 644 "$conf"
use_plugin "libdir=$lib" "conf=$conf"
ask 1 -p virtual
same "the default" "$got" "[summary,max_trace_mib=64,skip=bash+git]"
same "lines for the default" "$(wc -l <err)" 0
ask 2 --slurmscope=trace,sample=500,max_trace_mib=32,skip=mine
same "a wish, lowered" "$got" "[trace,sample=99,max_trace_mib=32,skip=bash+git+mine]"
same "lines for a step of two nodes" "$(grep -c slurmscope err)" 1
contains err "slurmscope: --slurmscope: lowered to this site.s limit: sample=99"
ask 1 -p virtual --slurmscope=off
same "off is within every limit" "$got" "[]"

echo limits=summary >>"$conf"
ask 2 --profile=all
same "more than a summary is not to be had" "$got" "[summary,max_trace_mib=64,skip=bash+git]"
same "lines" "$(grep -c slurmscope err)" 1
contains err "lowered to this site.s limit: summary"
printf 'default=off\nlimits=off\n' >>"$conf"
ask 1 --slurmscope=trace
same "switched off at once" "$got" "[]"
ask 1 -p virtual
same "switched off for the default" "$got" "[]"

# Others could have written it: it is as if it were not there, and slurmd's log says so.
printf 'default=trace\n' >"$conf"
for mode in 664 646; do
  chmod $mode "$conf"
  ask 1
  same "conf with mode $mode" "$got" "[]"
  same "lines on stderr" "$(wc -l <err)" 0
done
chmod 644 "$conf"
ask 1
same "conf with mode 644" "$got" "[trace]"
chown nobody "$conf"
ask 1
same "conf of an ordinary user" "$got" "[]"
grep -q "slurmscope.conf is not read: it must belong to root" "$TEST_CLUSTER"/log/slurmd-bm1 || fail "nothing in slurmd's log"

# An include that matches nothing, a half-edited line: every command goes on.
{
  echo "include $work/none.d/*"
  echo "optional $plugin libdir=$lib default=summary default= =x limits=often skip"
} >"$TEST_CLUSTER/etc/plugstack.conf"
ask 1
same "with a bad plugstack.conf" "$got" "[summary]"
same "lines on stderr" "$(wc -l <err)" 0
nothing_left
