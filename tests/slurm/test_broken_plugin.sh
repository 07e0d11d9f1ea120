#!/bin/bash
# What slurmscope-spank(8) says a broken plugin can and cannot do to a node: a file that is missing, one built for
# another Slurm, one whose hooks crash, one of another product with the same option, one that only some hosts
# have. Commands and jobs go on, and every node stays idle. (K1, K2, K4, K12, K14)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

plugstack() { printf '%s\n' "$@" >"$TEST_CLUSTER/etc/plugstack.conf"; }
nodes_are_idle() { [ "$(sinfo -h -N -o %T | sort -u)" = idle ]; }
# A node whose step has crashed is in use until slurmd has noticed.
await_idle() {
  local until=$((SECONDS + 30))
  until nodes_are_idle; do
    [ $SECONDS -lt $until ] || { fail "$1: a node is not idle: $(sinfo -h -N -o '%N %T' | xargs)"; return; }
    sleep 0.2
  done
}
for node in bm1 bm2 vm1 vm2; do
  daemons="${daemons-} $("$tests/cluster" exec "$TEST_CLUSTER" $node pgrep -x slurmd | head -n 1)"
done
same_daemons() {
  local node now=
  for node in bm1 bm2 vm1 vm2; do now="$now $("$tests/cluster" exec "$TEST_CLUSTER" $node pgrep -x slurmd | head -n 1)"; done
  same "$1: the slurmd of the nodes" "$now" "$daemons"
}

# The file is gone, the line is still there.
plugstack "optional $work/gone.so"
timeout 30 srun echo works >out 2>err
same "a missing file" "$? $(cat out)" "0 works"
contains err "gone.so"

# other VERSION HOOK STATEMENT: another.so, compiled for a Slurm of that version, that does it in its hook.
other() {
  cat >another.c <<END
#include <stdlib.h>
#include <stdint.h>
const char plugin_name[] = "another", plugin_type[] = "spank";
const unsigned int plugin_version = $1, spank_plugin_version = 1;
typedef void *spank_t;
typedef struct { char *name, *arginfo, *usage; int has_arg, val; int (*cb)(int, const char *, int); } option;
extern int spank_context(void), spank_option_register(spank_t, option *);
enum { kLocal = 1, kRemote = 2 };
static int taken(int v, const char *t, int r) { return 0; }
static option twin = {"slurmscope", "", "of another plugin", 2, 0, taken};
int $2(spank_t s, int n, char **w) { $3; return 0; }
END
  "${CC:-cc}" -w -shared -fPIC -o another.so another.c || fail "another.c does not compile"
}
version=$(printf '#include <slurm/slurm.h>\nSLURM_VERSION_NUMBER\n' | "${CC:-cc}" -E -P - | tail -n 1)

other "(${version} + 0x010000)" slurm_spank_init "abort()"
plugstack "optional $work/another.so"
timeout 30 srun echo works >out 2>err
same "built for another Slurm" "$? $(cat out)" "0 works"
contains err "Incompatible\|incompatible\|another.so"

# A hook that crashes in slurmstepd: the step is lost (srun waits for it until it is told not to), the node is not.
for hook in slurm_spank_user_init slurm_spank_task_init slurm_spank_exit; do
  other "$version" $hook "if (spank_context() == kRemote) abort()"
  plugstack "optional $work/another.so"
  timeout 8 srun -w bm2 true >out 2>&1
  await_idle "$hook crashes"
  same_daemons "$hook crashes"
done
plugstack "optional $plugin libdir=$lib"
timeout 30 srun -w bm2 --slurmscope sh -c 'echo $SLURMSCOPE' >out 2>err
same "afterwards all is well" "$(cat out)" trace

# A place that LD_PRELOAD cannot name: one line, and nothing is preloaded. (A blank would end the word in plugstack.conf.)
cp -r "$lib" a:colon
plugstack "optional $plugin libdir=$work/a:colon"
timeout 30 srun -w bm2 --slurmscope sh -c 'echo "works [$LD_PRELOAD]"' >out 2>err
same "a path with a colon" "$? $(cat out)" "0 works []"
same "lines of ours" "$(grep -c slurmscope: err)" 1
contains err "LD_PRELOAD takes no path with a blank or a colon"

# Another plugin has the same option: the first one has it; no line on stderr of a command that does not ask.
other "$version" slurm_spank_init "spank_option_register(s, &twin)"
plugstack "optional $plugin libdir=$lib" "optional $work/another.so"
timeout 30 srun echo works >out 2>err
same "an option that is there twice" "$? $(cat out)" "0 works"
timeout 30 srun --slurmscope=summary sh -c 'echo $SLURMSCOPE' >out 2>err
same "who comes first has the option" "$(cat out)" summary
srun --help 2>/dev/null | grep -c -e '--slurmscope' >count
same "times that srun --help names it" "$(cat count)" 1

# Only the nodes have it: the option is unknown, the variable and the site default work.
plugstack "optional $plugin libdir=$lib default=summary partitions=virtual"
: >none.conf
sed "s|^PlugStackConfig=.*|PlugStackConfig=$work/none.conf|" "$SLURM_CONF" >here.conf
cp here.conf "$TEST_CLUSTER/etc/slurm-without.conf"
if SLURM_CONF=$TEST_CLUSTER/etc/slurm-without.conf timeout 30 srun --slurmscope true >out 2>err; then
  fail "an unknown option was accepted"
fi
SLURM_CONF=$TEST_CLUSTER/etc/slurm-without.conf timeout 30 srun -p virtual sh -c 'echo $SLURMSCOPE' >out 2>err
same "default where srun has no plugin" "$(cat out)" summary
SLURM_CONF=$TEST_CLUSTER/etc/slurm-without.conf SLURMSCOPE=trace timeout 30 srun sh -c 'echo $SLURMSCOPE' >out 2>err
same "variable where srun has no plugin" "$(cat out)" trace

# Only srun has it: the job runs unprofiled.
echo "optional $plugin libdir=$lib" >here.plugstack
sed "s|^PlugStackConfig=.*|PlugStackConfig=$work/here.plugstack|" "$SLURM_CONF" >"$TEST_CLUSTER/etc/slurm-without.conf"
plugstack '# nothing'
SLURM_CONF=$TEST_CLUSTER/etc/slurm-without.conf timeout 30 srun --slurmscope sh -c 'echo "works [$LD_PRELOAD]"' >out 2>err
same "no plugin on the node" "$? $(cat out)" "0 works []"
rm "$TEST_CLUSTER/etc/slurm-without.conf"
await_idle "at the end"
nothing_left
