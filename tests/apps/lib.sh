# shellcheck shell=bash
# Shared by tests/apps/test_*; sourced. Runs an application on two ranks without the profiler and with it, and compares.
# Gives $here, $work (removed at the end), and the functions below. Needs STAGE; SLURMSCOPE_TIMES=1 also prints times.
set -u
: "${STAGE:?the prefix of the staged installation}"
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
name=$(basename "$0")
work=$(mktemp -d /var/tmp/slurmscope-app.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0
unset LD_PRELOAD SLURMSCOPE SLURMSCOPE_SPOOL
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
two_ranks() { timeout 300 mpirun.openmpi --oversubscribe -n 2 "$@"; }
export -f two_ranks

# app COMMAND...: (a program or an exported function) runs it in ./plain and in ./profiled, which `prepare` fills if the test defines it. Afterwards: out,
# err and counts/ in both, the report in report.json. Compares exit status, errors, and what `results` (a function
# of the test: prints what must be equal, in the current directory) says of both.
app() {
  local folder start times=()
  for folder in plain profiled; do
    rm -rf "$folder" run && mkdir -p "$folder/counts"
    if declare -F prepare >/dev/null; then (cd "$folder" && prepare) || { check "preparing" false; return 1; }; fi
    start=$(date +%s.%N)
    if [ $folder = plain ]; then
      (cd plain && "$@" >out 2>err)
    else
      (cd profiled && LD_PRELOAD=${tool-$work/counter.so} COUNTER_FOLDER=$PWD/counts \
        "$STAGE/bin/slurmscope" record -o "$work/run" -- bash -c '"$@"' bash "$@" >out 2>err)
    fi
    echo $? >"$folder/status"
    times+=("$(date +%s.%N | awk -v start="$start" '{ print $1 - start }')")
    (cd "$folder" && results >results 2>&1)
  done
  [ -z "${SLURMSCOPE_TIMES-}" ] || echo "$name: ${times[0]} s without, ${times[1]} s with"
  check "exit status" [ "$(cat plain/status profiled/status | tr '\n' ' ')" = "0 0 " ]
  check "results are there" [ -s plain/results ]
  check "results" diff plain/results profiled/results
  sed -i '/^slurmscope: run in /d' profiled/err
  check "errors" diff <(sort -u plain/err) <(sort -u profiled/err)
  "$STAGE/bin/slurmscope" report --json run >report.json || check "report" false
  check "verify" "$STAGE/bin/slurmscope" verify run
}
