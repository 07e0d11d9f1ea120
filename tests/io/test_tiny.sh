#!/bin/bash
# Programs of very many tiny calls: every one of them is counted, in both modes, through a ring that is much smaller than
# all that. (E17; what it costs is a line of ./check --bench.)
. "$(dirname "$0")/io_lib.sh"
scope=$STAGE/bin/slurmscope
command -v dd >/dev/null && command -v python3 >/dev/null || { echo "no dd or no python3"; exit 77; }
count=300000
for mode in trace summary; do
  "$scope" record --mode $mode --settings io_calls=0,io_bytes=0,ring_kib=64 -o "$work/run.$mode" -- \
    dd if=/dev/zero of="$work/out" bs=1 count=$count 2>"$work/err" </dev/null && ok || bad "$mode: exit $?: $(cat "$work/err")"
  [ "$(stat -c %s "$work/out")" = $count ] && ok || bad "$mode: dd wrote something else"
  "$scope" report --json "$work/run.$mode" >"$work/report.json" 2>"$work/err" || bad "$mode: $(cat "$work/err")"
  got=$(python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
calls = [(c["name"], c["count"], c["bytes"]) for p in r["ranks"] + r["processes"] for c in p["calls"] if c["bytes"]]
files = [(f["path"].endswith("/out"), f["writes"], f["bytes_written"], f["sequential"] > 0) for f in r["files"] if f["writes"] > 100]
sizes = [f["write_sizes"] for f in r["files"] if f["writes"] > 100]
print(calls, files, sizes, r["losses"])' "$work/report.json")
  bytes="('read', $count, $count), ('write', $count, $count)"
  case $got in
    *"('write', $count, $count)"*"[(True, $count, $count, True)] [[{'from': 1, 'count': $count}]] []") ok ;;
    *) bad "$mode: $got instead of $bytes" ;;
  esac
  "$scope" verify "$work/run.$mode" >"$work/verified" 2>&1 && ok || bad "$mode: $(cat "$work/verified")"
done
finish
