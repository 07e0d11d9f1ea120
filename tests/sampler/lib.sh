# Sourced by tests/sampler/test_*: builds the test host and programs, runs a program under the sampler.
# Needs STAGE (prefix of the staged installation). Afterwards $result is what the sampler gave.
set -uo pipefail
: "${STAGE:?the prefix of the staged installation}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
export SAMPLER_MODULE=$STAGE/lib/slurmscope/slurmscope-sampler.so
work=$(mktemp -d /tmp/sampler-test.XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
result=$work/result
passed=0 failed=0

[ -e "$SAMPLER_MODULE" ] || { echo "no $SAMPLER_MODULE"; exit 1; }
${CXX:-g++} -std=gnu++20 -O1 -fPIC -shared -fno-exceptions -D_GNU_SOURCE -I"$top" -o "$work/host.so" \
  "$here/sampler_host.cc" "$top/proto/settings.cc" "$top"/profiler/unwind/*.cc || exit 1

# build NAME FLAGS...: tests/sampler/programs/NAME.{c,cc} into $work/NAME
build() {
  local name=$1 source
  shift
  source=$(ls "$here/programs/$name".c*) || exit 1
  case $source in
    *.cc) ${CXX:-g++} -std=gnu++20 -O2 -rdynamic -pthread -o "$work/$name" "$source" "$@" ;;
    *) ${CC:-gcc} -std=gnu11 -O2 -rdynamic -pthread -D_GNU_SOURCE -o "$work/$name" "$source" "$@" ;;
  esac || { echo "cannot build $name"; exit 1; }
}

# sampled SETTINGS SECONDS PROGRAM ARGS...: runs it under the sampler; output in $work/out and $work/err
sampled() {
  local settings=$1 limit=$2
  shift 2
  rm -f "$result"
  timeout -k 5 "$limit" env LD_PRELOAD="$work/host.so" SLURMSCOPE="$settings" SAMPLER_RESULT="$result" "$@" >"$work/out" 2>"$work/err"
}

# check TEXT COMMAND...: one case
check() {
  local text=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $text"
    tail -n 5 "$work/out" "$work/err" 2>/dev/null | sed 's/^/     /'
    { grep -v '^stack' "$result"; grep -c '^stack' "$result"; grep -m 5 '^stack' "$result" | cut -c1-300; } 2>/dev/null | sed 's/^/     /'
  fi
}

# at_least N REGEX [FILE]: FILE (the result) has N matching lines or more
at_least() { [ "$(grep -cE -- "$2" "${3:-$result}")" -ge "$1" ]; }
none() { ! grep -qE -- "$1" "${2:-$result}"; }
silent() { [ ! -s "$work/err" ]; }

finish() {
  echo "$passed passed, $failed failed"
  [ $failed = 0 ]
}
