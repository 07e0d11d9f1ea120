#!/bin/bash
# Calls that wrappers are left through, arguments that libc does not look at, descriptors that change their
# meaning unseen, tight limits, and sandboxes: the program behaves as without the library, and what it goes
# on to do is recorded. (B5 J7 D9 E6 E9 K21)
. "$(dirname "$0")/io_lib.sh"
[ -x "$ring_dump" ] || { echo "no $ring_dump (make check-programs)"; exit 1; }
${CXX:-g++} -O2 -w -pthread -o "$work/awkward_io" "$here/awkward_io.cc" || exit 1
ulimit -c 0

# plain PART...: its output and end without the library, in $want
plain() { want=$(cd "$work" && timeout 60 "$work/awkward_io" "$@" 2>&1; echo "end $?"); rm -f "$work"/made?????? "$work/mine"; }
# same SETTINGS PART...: the same with it; the events are in $work/events
same() {
  local settings=$1
  shift
  plain "$@"
  recorded "$settings" "$work/awkward_io" "$@"
  local recorded_status=$? got
  got=$(cat "$work/out"; echo "end $recorded_status")
  # The temporary files have other names, in another directory.
  [ "$(sed -E 's/made.{6}/made/' <<<"${got//$run/$work}")" = "$(sed -E 's/made.{6}/made/' <<<"$want")" ] && ok ||
    bad "$*: '$got' instead of '$want': $(head -n 3 "$work/err")"
  "$ring_dump" "$spool" >"$work/events" || bad "$*: an event without its file"
}
# count PATTERN WANTED WHAT
count() { local n; n=$(grep -cE "$1" "$work/events"); [ "$n" = "$2" ] && ok || bad "$3: $n instead of $2"; }
writes=' pwrite fd=[0-9]+ bytes=3 offset=0 ok /dev/null$'

same "$at_once" nulls
for function in fclose pclose fread freopen; do same "$at_once" null_stream $function; done

same "$at_once" vfork_killed; count "$writes" 600 "writes after a vfork's child was killed in a call"
same "$at_once" vfork_moved
count ' write fd=[0-9]+ bytes=10 offset=-1 ok .*/mine$' 100 "writes of the parent"
count 'bytes=5 ' 0 "writes of the child in the parent's record"
count "$writes" 600 "writes after a vfork's child"
same "$at_once" throwing; count "$writes" 1800 "writes after an exception left a call"
same "$at_once" cancelled; count "$writes" 1500 "writes of a cancelled thread's cleanup"
same "$at_once" jumped; count "$writes" 600 "writes after siglongjmp left a call"
same "$at_once" switched; count "$writes" 600 "writes after setcontext left a call"
for part in reentered reentered_on_stack reentered_in_thread; do
  same "$at_once" $part
  count "$writes" 600 "$part: writes afterwards"
  count '^1 LOST reason=2 count=3$' 1 "$part: the handler's calls are counted as lost"
  count ' read fd=[0-9]+ bytes=0 offset=-1 EINTR pipe:$' 3 "$part: interrupted reads"
done

for way in popen closedir tmpfile bare memfd fdopendir dup; do
  same "$at_once" reused $way
  path=$(head -n 1 "$work/out")
  [ $way = memfd ] && path=${path% (deleted)}
  got=$(awk '$2 == "write" && $4 == "bytes=10" { print $NF }' "$work/events" | sort | uniq -c | awk '{ print $1, $2 }')
  [ "$got" = "100 $path" ] && ok || bad "a number reused after $way: $got instead of 100 $path"
done

never=trace,io_calls=4294967295,io_bytes=1099511627776
for when in before before_future; do same "$never" locked $when; done
for when in before before_future after after_future; do same "$at_once" locked $when; done
for limit in as data; do
  same "$at_once" limited $limit
  count "$writes" 600 "writes under a limit ($limit)"
done

# Below the threshold, reaching it, and recorded already.
if [ "$("$work/awkward_io" sealed 0)" = sealed ]; then
  same "$never" sealed 0
  same trace,io_calls=500 sealed 10
  same "$at_once" sealed 10
  count ' write fd=[0-9]+ bytes=3 offset=-1 ok /dev/null$' 1010 "writes in strict mode"
else
  echo "no strict mode of seccomp here: left out"
fi
finish
