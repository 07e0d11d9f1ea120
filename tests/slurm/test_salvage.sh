#!/bin/bash
# A step whose drainer hangs until the plugin has given up, and is killed then: the plugin's line names the spool and
# what to do, and the user's own `slurmscope salvage` on the node gets every call out of it. (L17)
# shellcheck source-path=SCRIPTDIR disable=SC2016  # scripts for other shells
. "$(dirname "$0")/slurm_case.sh"

slurmscope=$STAGE/bin/slurmscope
on_node() { "$tests/cluster" exec "$TEST_CLUSTER" "$@"; }
"${CC:-cc}" -O1 -o worker "$tests/worker.c" || { fail "worker.c does not compile"; exit 1; }
use_plugin "wait=2"
drainers=()  # by their pids on the node, where alone they are to be signalled
signal() { on_node bm1 kill "$1" "${drainers[@]}"; }
trap '[ ${#drainers[@]} = 0 ] || signal -KILL 2>/dev/null; finish' EXIT

await() { # WHAT COMMAND...: until it succeeds
  local what=$1 end=$((SECONDS + 30)); shift
  until "$@"; do
    [ $SECONDS -lt $end ] || { fail "$what: not within 30 s"; exit 1; }
    sleep 0.05
  done
}
# The state of every drainer that still is one: T, Z, ...
states() { on_node bm1 ps -o stat= -p "$(IFS=,; echo "${drainers[*]}")" | cut -c1 | sort -u; }
are_stopped() { [ "$(states)" = T ]; }
are_dead() { ! states | grep -qv Z; }

# Two ranks that stand still after half of their calls, with a batch in the trace; the drainer's two processes.
on_node -u nobody login timeout 100 srun -w bm1 -n2 --slurmscope="trace,io_calls=1,output=$work/run" \
  ./worker 6000 wait "$work/go" >out 2>err &
srun=$!
await "a trace" [ -s run/step0.bm1.sst ]
spool=$(on_node bm1 sh -c 'echo /dev/shm/slurmscope-65534-*.0')
mapfile -t drainers < <(on_node bm1 pgrep -x slurmscope-drai | sort -n)
same "drainers" ${#drainers[@]} 2
signal -STOP
await "the drainers stand still" are_stopped
touch go
wait $srun
same "exit code" $? 5
same "output" "$(sort out | xargs)" "done 0 done 1"
same "lines of ours" "$(grep -c slurmscope: err)" 1
contains err "not written yet after 2 s.*what is left is in $spool (see slurmscope-salvage(1))"
on_node -u nobody bm1 "$slurmscope" salvage "$spool" >page 2>&1
same "salvage beside a drainer" $? 1
contains page "still followed by its drainer"

signal -KILL
await "the drainers are dead" are_dead
drainers=()
on_node -u nobody bm1 "$slurmscope" salvage --remove /dev/shm >page 2>&1
same "salvage" $? 0
contains page "trace:\? *$work/run/step0.bm1.sst"
same "what was lost" "$(sed -n '/^LOST/{n;p}' page | xargs)" nothing
traces run step0.bm1.sst
same "owner and mode" "$(stat -c '%U %a' run/step0.bm1.sst)" "nobody 600"
"$slurmscope" report --json run >run.json || fail "no report"
# How often they looked for the file is not known, what they wrote is.
same "calls" "$(/usr/bin/python3 -c '
import json
for rank in json.load(open("run.json"))["ranks"]:
    print(*(word for call in rank["calls"] if call["name"] in ("printf", "write") for word in (call["name"], call["count"], call["bytes"])))' |
  sort -u)" "printf 1 7 write 6000 6000"
same "processes" "$(grep -o '"exe": *"[^"]*"' run.json | sort | uniq -c | xargs)" "2 exe: $work/worker"
nothing_left
