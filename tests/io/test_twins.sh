#!/bin/bash
# Functions under their second names: each 64-bit twin resolves itself and is counted as what it is (E3), and so is the
# stat family of programs that were linked before and after glibc 2.33 (E5). Also without a recording: pass-through.
. "$(dirname "$0")/io_lib.sh"
[ -x "$ring_dump" ] || { echo "no $ring_dump (make check-programs)"; exit 1; }

# What was seen of the run: "<count> <call> <bytes> <outcome> <path>", sorted.
seen() {
  "$ring_dump" "$spool" | sed -E "s| $run/| |; s| $run\$| .|; s/ made\\S+/ made/; s|^1 (\\S+) fd=\\S+ bytes=([0-9]+) offset=\\S+ |\\1 \\2 |" |
    sed -E 's| \S+/#[0-9]+$| (temporary)|' | LC_ALL=C sort | uniq -c | sed -E 's/^ +//'
}
# check PROGRAM: with the list of what must be seen as standard input
check() {
  local settings
  for settings in off trace,io_calls=4294967295,io_bytes=1099511627776; do
    recorded $settings "$work/$1" && ok || bad "$1 with $settings: exit $?: $(head -n 3 "$work/err")"
  done
  recorded "$at_once" "$work/$1" && ok || bad "$1: exit $?: $(head -n 3 "$work/err")"
  seen >"$work/seen"
  diff "$work/seen" - >"$work/diff" && ok || bad "$1: (<) seen, (>) made: $(cat "$work/diff")"
}

$compiler -O2 -w -fno-builtin -o "$work/twins" "$here/twins.c" || exit 1
check twins <<'E'
2 close 0 ok at
1 close 0 ok creat64
4 close 0 ok made
1 close 0 ok open64
1 close 0 ok openat64
1 close 0 ok to
1 closedir 0 ok .
1 creat 0 ok creat64
1 fallocate 0 ok at
1 fclose 0 ok (temporary)
1 fclose 0 ok freopen64
1 fopen 0 ok fopen64
1 fread 2 ok fopen64
1 freopen 0 ok freopen64
1 fseek 0 ok fopen64
1 fsetpos 0 ok fopen64
1 fstat 0 ok at
1 fstatat 0 ok creat64
1 ftruncate 0 ok at
1 fwrite 1 ok (temporary)
1 fwrite 2 ok freopen64
1 fwrite 3 ok fopen64
1 lseek 0 ok at
1 lstat 0 ok openat64
1 mmap 4096 ok at
1 open 0 ok at
1 open 0 ok open64
1 open 0 ok to
1 openat 0 ok openat64
1 opendir 0 ok .
1 posix_fallocate 0 ok at
1 pread 3 ok at
1 preadv 3 ok at
1 preadv2 3 ok at
1 pwrite 3 ok at
1 pwritev 3 ok at
1 pwritev2 3 ok at
10 readdir 0 ok .
1 sendfile 2 ok to
1 sendfile(source) 2 ok at
1 stat 0 ok open64
1 truncate 0 ok at
4 unlink 0 ok made
1 write 2 ok at
1 write 3 ok creat64
4 write 3 ok made
1 write 3 ok open64
1 write 3 ok openat64
E
# Twins that the table has and the program does not call would make this test a lie.
not_called=$(sed -nE 's/^IO_(CALL|ALIAS|FOLLOW)\(([a-z_0-9]+64(v2)?),.*/\2/p' "$here/../../profiler/io/io_calls.def" | grep -vxE '__.*|aio_.*|lio_.*' |
  while read -r twin; do grep -q "\\b$twin(" "$here/twins.c" || echo "$twin"; done)
[ -z "$not_called" ] && ok || bad "not called: $not_called"

if [ "$(uname -m)" = x86_64 ]; then
  $compiler -O2 -w -fno-builtin -DOLD_NAMES -o "$work/old_twins" "$here/twins.c" || exit 1
  nm -D "$work/old_twins" | grep -q '__xstat@GLIBC_2.2.5' && ok || bad "the old names are not in the program"
  check old_twins <<'E'
3 fstat 0 ok file
3 fstatat 0 ok link
1 ftruncate 0 ok file
3 lstat 0 ok link
1 open 0 ok file
1 stat 0 EINVAL -
1 stat 0 ENOENT -
3 stat 0 ok link
1 symlink 0 ok link
E
fi
finish
