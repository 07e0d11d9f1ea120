#!/bin/bash
# A shared memory file system that is small (containers): our rings leave most of it to the application, and
# `record` puts its spool elsewhere. Needs a mount namespace. (K21)
. "$(dirname "$0")/io_lib.sh"
if [ -z "${INSIDE:-}" ]; then
  unshare -m true 2>/dev/null && own=(unshare -m) || own=(unshare -rm)
  "${own[@]}" true 2>/dev/null || { echo "no mount namespace here"; exit 77; }
  exec env INSIDE=1 "${own[@]}" "$0"
fi
mount --make-rprivate / && mount -t tmpfs -o size=16m none /dev/shm || { echo "no tmpfs here"; exit 77; }
free_kib() { df -k --output=avail /dev/shm | tail -n 1; }

cat >"$work/busy.c" <<'C'
#include <fcntl.h>
#include <unistd.h>
int main(void) {
  int sink = open("/dev/null", O_WRONLY);
  for (int i = 0; i < 100; i++) pwrite(sink, "abc", 3, 0);
  return 0;
}
C
$compiler -O2 -w -o "$work/busy" "$work/busy.c" || exit 1
ulimit -l unlimited 2>/dev/null
spool=/dev/shm/spool
mkdir -m 700 "$spool"
for i in 1 2 3 4 5 6 7 8 9 10; do
  SLURMSCOPE=$at_once SLURMSCOPE_SPOOL=$spool LD_PRELOAD=$library "$work/busy" || bad "process $i: exit $?"
done
left=$(free_kib)
[ "$left" -ge $((8 * 1024)) ] && ok || bad "ten processes leave $left KiB of 16 MiB"
got=$("$ring_dump" "$spool" | grep -c ' pwrite ')
[ "$got" = 1000 ] && ok || bad "$got of 1000 writes in small rings"
rm -r "$spool"

# Full: nothing is taken, nobody is hurt.
mkdir -m 700 "$spool"
head -c $((16 * 1024 * 1024 - 100 * 1024)) /dev/zero >/dev/shm/full
SLURMSCOPE=$at_once SLURMSCOPE_SPOOL=$spool LD_PRELOAD=$library "$work/busy" && ok || bad "on a full file system: exit $?"
[ "$(find "$spool" -name 'ring-*' | wc -l)" = 0 ] && ok || bad "a ring was made of the last of the space"
rm -r "$spool" /dev/shm/full

scope=$STAGE/bin/slurmscope
if [ -x "$scope" ]; then
  mkdir "$work/tmp"
  where=$(TMPDIR=$work/tmp "$scope" record -o "$work/run" -- sh -c 'echo "$SLURMSCOPE_SPOOL"' 2>/dev/null)
  case $where in
    "$work/tmp"/*) ok ;;
    *) bad "record puts its spool into '$where'" ;;
  esac
fi
finish
