#!/bin/bash
# The site default: by partition, by file, with bad words; users opt out, opt in, or use SLURMSCOPE. (K15, K24)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

show='echo "$SLURM_JOB_ID [$SLURMSCOPE]"'
# direct ARGUMENTS... VARIABLE=VALUE...: SLURMSCOPE that a direct srun's task gets, and its job id in `job`.
direct() {
  local answer
  answer=$(timeout 30 srun "$@" sh -c "$show" 2>srun.err)
  job=${answer%% *} got=${answer#* }
}

use_plugin "libdir=$lib" default=summary,io_calls=77 partitions=virtual,other
direct -p virtual
same "site default in its partition" "$got" "[summary,io_calls=77]"
traces "slurmscope-$job" step0.vm1.sst
direct -p baremetal
same "site default elsewhere" "$got" "[]"
direct -p virtual --slurmscope=off
same "opting out" "$got" "[]"
direct -p virtual --profile=none
same "opting out by --profile" "$got" "[]"
direct -p baremetal --slurmscope
same "opting in to more keeps the site's settings" "$got" "[trace,io_calls=77]"
SLURMSCOPE=off direct -p virtual
same "opting out by variable" "$got" "[off]"
no_traces "slurmscope-$job"
SLURMSCOPE=trace direct -p baremetal
same "opting in by variable" "$got" "[trace,io_calls=77]"
traces "slurmscope-$job" step0.bm1.sst
SLURMSCOPE=sometimes direct -p virtual
same "a bad variable is skipped" "$got" "[summary,io_calls=77]"
contains srun.err "SLURMSCOPE: 'sometimes'"

# A user's own value in a profiled job's script is his, the one that the plugin set is not.
submit -p virtual -- 'SLURMSCOPE=off srun sh -c "echo [\$SLURMSCOPE]"; srun sh -c "echo [\$SLURMSCOPE]"'
same "nested" "$(xargs <"$out")" "[off] [summary,io_calls=77]"
traces "slurmscope-$job" "batch.vm1.sst step1.vm1.sst"

# slurmscope.conf, and words that are wrong: a line in slurmd's log, and everything goes on.
printf '# site\ndefault=trace\noutput=%s/%%u/%%j-%%x\nnonsense\n' "$work/runs" >site.conf
use_plugin "libdir=$lib" "conf=$work/site.conf" foo=1
direct -J 'a/b'
same "from the file" "$got" "[trace,output=$work/runs/%u/%j-%x]"
traces "runs/root/$job-a_b" step0.bm1.sst
same "stderr of srun" "$(cat srun.err)" ""
grep -q "site.conf:4: 'nonsense' is not key=value" "$TEST_CLUSTER/log/slurmd-bm1" || fail "no line in slurmd's log"
use_plugin conf=/no/such/file default= wait=x "libdir=$work"
direct
same "stderr with bad arguments" "$(cat srun.err)" ""
same "with bad arguments" "$got" "[]"
nothing_left
