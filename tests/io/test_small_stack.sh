#!/bin/bash
# A process is recorded from its first I/O call on, made by a signal handler on a stack of 8 KiB.
. "$(dirname "$0")/io_lib.sh"
scope=$STAGE/bin/slurmscope
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
$compiler -O1 -Wl,-z,now -o "$work/small_stack" "$here/small_stack.c" || { echo "0 passed, 1 failed"; exit 1; }
cd "$work" || exit 1
./small_stack
plain=$?
[ $plain = 77 ] && { echo "the kernel's signal frame does not leave room in 8 KiB"; exit 77; }
[ $plain = 42 ] && ok || bad "without the profiler: exit $plain"
for mode in trace summary; do
  long=$(printf 'io_exclude=/%0600d' 0)  # settings that do not fit what the start of a process keeps
  for settings in io_calls=0,io_bytes=0 "io_calls=0,io_bytes=0,$long" "io_calls=0,io_bytes=0,sample=99"; do
    rm -rf run
    LARGE=$(printf '%03000d' 0) "$scope" record --mode $mode --settings "$settings" -o run -- ./small_stack 2>err
    code=$?
    [ $code = 42 ] && ok || bad "$mode, ${settings:0:40}: exit $code: $(cat err)"
    got=$("$scope" report --json run | python3 -c '
import json, sys
r = json.load(sys.stdin)
print([(f["writes"], f["bytes_written"]) for f in r["files"] if f["path"].endswith("/from_handler")], r["losses"])')
    [ "$got" = "[(1, 5)] []" ] && ok || bad "$mode, ${settings:0:40}: $got"
  done
done
finish
