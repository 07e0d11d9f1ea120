# shellcheck shell=bash
# Shared by tests/apps/test_*; sourced. Runs an application on two ranks without the profiler and with it, and compares.
# Gives $here, $work (removed at the end), and the functions below. Needs STAGE. SLURMSCOPE_TIMES=1: also prints the
# wall times of two turns (without, with, without, with), which no check looks at.
set -u
: "${STAGE:?the prefix of the staged installation}"
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
name=$(basename "$0")
work=$(mktemp -d /var/tmp/slurmscope-app.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0
unset LD_PRELOAD SLURMSCOPE SLURMSCOPE_SPOOL COUNTER_FOLDER
export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_opal_warn_on_missing_libcuda=0

check() { # WHAT COMMAND...
  local what=$1 said
  shift
  if said=$("$@" 2>&1); then passed=$((passed + 1)); else failed=$((failed + 1)); echo "$name: $what: ${said:0:1500}"; fi
}
summary() { echo "$passed passed, $failed failed"; [ $failed = 0 ]; }
needs() { command -v "$1" >/dev/null || { echo "$1 is not installed (setup/packages.debian, section apps)"; exit 77; }; }

gcc -O1 -w -fPIC -shared -o "$work/counter.so" "$here/counter.c" || exit 1
two_ranks() { timeout 600 mpirun.openmpi --oversubscribe -n 2 "$@"; }
export -f two_ranks

# run FOLDER COMMAND...: in FOLDER, made anew and filled by `prepare` if the test defines it. FOLDER says how:
# plain is without the profiler, profiled with it, counted with it and with the counter behind it.
# Leaves out, err, status, and in computed what `results` prints (the test's own: what must be equal); sets $seconds.
run() {
  local folder=$1 start record=("$STAGE/bin/slurmscope" record -o "$work/$1.run" --)
  shift
  rm -rf "$folder" "$folder.run" && mkdir -p "$folder/counts"
  if declare -F prepare >/dev/null; then (cd "$folder" && prepare) || { check "preparing" false; return 1; }; fi
  start=$(date +%s.%N)
  (
    cd "$folder" || exit 1
    case $folder in
      plain) "$@" ;;
      profiled) "${record[@]}" bash -c '"$@"' bash "$@" ;;
      counted) LD_PRELOAD=$work/counter.so COUNTER_FOLDER=$PWD/counts "${record[@]}" bash -c '"$@"' bash "$@" ;;
    esac >out 2>err
  )
  echo $? >"$folder/status"
  seconds=$(date +%s.%N | awk -v start="$start" '{ printf "%.2f", $1 - start }')
  (cd "$folder" && results >computed 2>&1)
}

# same FOLDER: it ended, said and computed what it does without the profiler, and left a good trace.
same() {
  check "$1: exit status" diff plain/status "$1/status"
  check "$1: results" diff plain/computed "$1/computed"
  sed -i '/^slurmscope: run in /d' "$1/err"
  check "$1: errors" diff <(sort -u plain/err) <(sort -u "$1/err")
  "$STAGE/bin/slurmscope" report --json "$1.run" >"$1.json" || check "$1: report" false
  check "$1: verify" "$STAGE/bin/slurmscope" verify "$1.run"
}

# app COMMAND...: a program or an exported function, without and with the profiler, and a third time with the counter
# too, unless the test says `counter=no`. Reports are in profiled.json and counted.json, counts in counted/counts.
app() {
  local without with
  run plain "$@" || return 1
  without=$seconds
  run profiled "$@" || return 1
  with=$seconds
  check "exit status" [ "$(cat plain/status)" = 0 ]
  check "results are there" [ -s plain/computed ]
  same profiled
  [ "${counter-}" = no ] || { run counted "$@" && same counted; }
  [ -n "${SLURMSCOPE_TIMES-}" ] || return 0
  run plain "$@" && without+=", $seconds" && mv profiled.run kept.run && run profiled "$@" && with+=", $seconds"
  rm -rf profiled.run && mv kept.run profiled.run
  echo "note: $without s without, $with s with"
}

# calls CHECK_APP-ARGUMENT...: what the reports say of MPI; both runs must agree in all that timing does not decide.
calls() {
  if [ "${counter-}" = no ]; then check "calls" "$here/check_app" "$@" profiled.json; return; fi
  check "calls, counted" "$here/check_app" --counts counted/counts "$@" counted.json
  check "calls, not counted" "$here/check_app" --like counted.json "$@" profiled.json
}
