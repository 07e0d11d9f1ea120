# Shared by the tests of this folder: where things are, how a program is recorded into bare rings.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${STAGE:?the prefix of the staged installation}"
library=$STAGE/lib/slurmscope/libslurmscope.so
ring_dump=${BUILD:-$here/../../build}/tests/io/ring_dump
[ -f "$library" ] || { echo "no $library"; exit 1; }

work=$(mktemp -d "${TMPDIR:-/tmp}/slurmscope-io.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL $*"; }
finish() { echo "$passed passed, $failed failed"; [ $failed = 0 ]; exit; }

compiler=${CC:-gcc}
command -v "$compiler" >/dev/null || { echo "no C compiler ($compiler)"; exit 77; }

# Without built-in functions: printf must stay printf, fputs must not become fwrite.
build_known_io() {
  $compiler -O2 -D_FORTIFY_SOURCE=2 -fno-builtin -pthread -o "$work/known_io" "$here/known_io.c" \
    "$here/known_kinds.c" "$here/known_sockets.c"
}

# new_spool: an empty spool directory without a drainer; its path in $spool
new_spool() { spool=$(mktemp -d "$work/spool.XXXXXX"); }

# recorded SETTINGS COMMAND...: runs it under the library with these settings, in a fresh directory
# $run and with a fresh $spool; standard output in $work/out
recorded() {
  local settings=$1
  shift
  new_spool
  run=$(mktemp -d "$work/run.XXXXXX")
  (cd "$run" && exec timeout 120 env SLURMSCOPE="$settings" SLURMSCOPE_SPOOL="$spool" LD_PRELOAD="$library" "$@") >"$work/out" 2>"$work/err"
}
at_once=trace,io_calls=0,io_bytes=0,skip=timeout+env
