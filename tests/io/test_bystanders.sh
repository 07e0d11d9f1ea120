#!/bin/bash
# Programs that must not notice the library: other allocators, Python's processes, hundreds of short
# commands, plugins that need static thread-local storage. None of them may leave a file or a word. (A16 A17 B4 B11 D5)
. "$(dirname "$0")/io_lib.sh"

never=trace,io_calls=4294967295,io_bytes=1099511627776

# same NAME COMMAND...: result and output with the library equal those without, idle and recording
same() {
  local name=$1 want_status want
  shift
  want=$(cd "$work" && timeout 120 "$@" 2>&1)
  want_status=$?
  [ $want_status = 0 ] || { bad "$name: fails by itself: $want"; return; }
  local got status settings
  for settings in off "$never" "$at_once"; do
    new_spool
    got=$(cd "$work" && SLURMSCOPE=$settings SLURMSCOPE_SPOOL=$spool timeout 120 "${preloaded[@]}" "$@" 2>&1)
    status=$?
    if [ $status = 0 ] && [ "$got" = "$want" ]; then ok; else bad "$name with $settings: status $status: $got"; fi
    [ "$settings" = "$at_once" ] || [ -z "$(ls -A "$spool")" ] && ok || bad "$name with $settings left $(ls "$spool" | wc -l) files"
  done
}

build_known_io || exit 1
known() { rm -rf "$work/in" && mkdir "$work/in" && cd "$work/in" && "$work/known_io" "$@" >/dev/null; }
export -f known
export work

# Allocators that open files and allocate while they start, before and behind us.
for allocator in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
  path=$(ldconfig -p | awk -v name=$allocator '$1 == name { print $NF; exit }')
  [ -n "$path" ] || { echo "no $allocator: left out"; continue; }
  for order in "$library $path" "$path $library"; do
    preloaded=(env LD_PRELOAD="$order")
    same "$order" bash -c "known posix duplicates streams threads children text scanned mapped requests directories"
  done
done

preloaded=(env LD_PRELOAD="$library")
same "known I/O" bash -c "known posix wide duplicates streams failures children threads handlers text scanned paths directories copies mapped requests streamed datagrams local excluded"

# A plugin with 1.4 KiB of initial-exec thread-local storage fits into what static TLS is left over.
echo '__thread char room[1400] __attribute__((tls_model("initial-exec"))); int use(void) { return room[7]; }' >"$work/plugin.c"
printf '%s\n' '#include <dlfcn.h>' '#include <stdio.h>' \
  'int main(void) { void *p = dlopen("./plugin.so", RTLD_NOW); if (!p) puts(dlerror()); return !p; }' >"$work/host.c"
$compiler -shared -fPIC -o "$work/plugin.so" "$work/plugin.c" && $compiler -o "$work/host" "$work/host.c" -ldl || exit 1
same "static TLS" ./host

# A program for the old ABI: libc keeps __xstat for it, without a default version (E5; all of them in test_twins.sh).
printf '%s\n' '#include <sys/stat.h>' '#include <stdio.h>' 'int __xstat(int, const char *, struct stat *);' \
  '__asm__(".symver __xstat,__xstat@GLIBC_2.2.5");' \
  'int main(void) { struct stat s; int r = __xstat(1, "/etc/passwd", &s); printf("%d %lld\n", r, (long long)s.st_size); return r; }' >"$work/old.c"
if [ "$(uname -m)" = x86_64 ]; then
  $compiler -o "$work/old" "$work/old.c" && same "old stat" ./old || exit 1
  recorded "$at_once" "$work/old"
  "$ring_dump" "$spool" | grep -q ' stat fd=-1 bytes=0 offset=-1 ok /etc/passwd$' && ok || bad "old stat is not recorded"
fi

if command -v python3 >/dev/null; then
  cat >"$work/pool.py" <<'P'
import multiprocessing, subprocess, sys
def square(n):
    with open("/dev/null", "w") as sink:
        sink.write("x" * 100)
    return n * n
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(3) as pool:
            print(method, sum(pool.map(square, range(100))))
    for _ in range(20):
        print(subprocess.run(["cat"], input=b"hello", stdout=subprocess.PIPE, close_fds=True).stdout.decode(), end=" ")
P
  same "python processes" python3 pool.py
else
  echo "no python3: left out"
fi

# 300 short commands: no file, no word.
cat >"$work/short.sh" <<'S'
for i in $(seq 100); do /bin/true; done
for i in $(seq 60); do echo $i | /bin/cat | /usr/bin/wc -c; done
/usr/bin/env -i /bin/true; LD_PRELOAD= /bin/true
S
new_spool
text=$(SLURMSCOPE=trace SLURMSCOPE_SPOOL=$spool LD_PRELOAD=$library bash "$work/short.sh" 2>&1 | sort -u | tr '\n' ' ')
[ "$text" = "2 3 " ] && ok || bad "short commands printed: $text"
[ -z "$(ls -A "$spool")" ] && ok || bad "short commands left $(ls "$spool" | wc -l) files"
finish
