#!/bin/bash
# Every recorded I/O call, exactly: known_io does known calls, known_io.expected says what the rings hold.
# (E1 E2 E4 E6 E7 E8 E12 E16)
. "$(dirname "$0")/io_lib.sh"
[ -x "$ring_dump" ] || { echo "no $ring_dump (make check-programs)"; exit 1; }
build_known_io || exit 1

# dump: the events of the last run, paths relative to its directory, in $work/events
dump() {
  "$ring_dump" "$spool" >"$work/dump" || bad "$1: an event without its file"
  sed -E "s| $run/| |; s| $run\$| .|; s|(127\.0\.0\.1):[0-9]+\$|\1:PORT|; s| port[0-9]+\$| portPORT|" "$work/dump" >"$work/events"
}

# part NAME [SETTINGS]: the program must not notice, and it must print nothing by itself
part() {
  recorded "$at_once${2:-}" "$work/known_io" "$1"
  local status=$?
  [ $status = 77 ] && { echo "$1: not possible on this file system: left out"; return 1; }
  [ $status = 0 ] || { bad "$1: exit $status: $(cat "$work/err")"; return 1; }
  [ -s "$work/err" ] && bad "$1: stderr: $(head -n 3 "$work/err")"
  dump "$1"
}

for name in posix wide duplicates streams failures excluded children text scanned paths unnamed directories copies mapped requests streamed datagrams local; do
  part $name || continue
  awk -v want="[$name]" '/^\[/ { on = $0 == want; next } on && NF' "$here/known_io.expected" >"$work/expected"
  [ -s "$work/expected" ] || bad "$name: nothing expected"
  if diff -u "$work/expected" "$work/events" >"$work/diff"; then ok; else bad "$name (- expected, + seen)"; cat "$work/diff"; fi
done

# The port is the one that was connected to.
if part streamed; then
  port=$(sed -nE 's|.* mkdir .*/port([0-9]+)$|\1|p' "$work/dump")
  got=$(grep -cE "^1 (connect fd=4 .* ok|connect fd=3 .* ECONNREFUSED|send fd=4 bytes=50 .*) tcp:127\.0\.0\.1:$port\$" "$work/dump")
  [ -n "$port" ] && [ "$got" = 3 ] && ok || bad "port $port: $got of 3 rows name it"
fi

# Threads write into rings of their own: compare sums. 4 x (1 open, 1000 writes, 1 close), 4 unlinks,
# and the stat before them.
if part threads; then
  got=$(awk '{ split($4, b, "="); n[$2]++; s[$2] += b[2]; f[$NF] } END { print n["open"], n["write"], s["write"], n["close"], n["unlink"], length(f), NR }' "$work/events")
  [ "$got" = "4 4000 32000 4 4 5 4013" ] && ok || bad "threads: $got"
fi

# A handler's calls interrupt wrappers anywhere: the interrupted ones must all be there, whole. Those of the
# handler inside a wrapper are lost, and counted.
if part handlers; then
  writes=$(tail -n 1 "$work/out")
  got=$(grep -c '^1 write fd=3 bytes=16 offset=-1 ok data$' "$work/events")
  [ "$got" = "$writes" ] && ok || bad "handlers: $got of $writes writes"
  odd=$(grep -vE '^1 (write fd=3 bytes=16 offset=-1|(open|fstat|close) fd=3 bytes=0 offset=-1|unlink fd=-1 bytes=0 offset=-1) ok data$|^1 (open|close) fd=4 bytes=0 offset=-1 ok /dev/null$|^1 write fd=4 bytes=1 offset=-1 ok /dev/null$|^1 dprintf fd=1 |^1 LOST reason=2 count=' "$work/events")
  [ -z "$odd" ] && ok || bad "handlers: $(head -n 5 <<<"$odd")"
fi

finish
