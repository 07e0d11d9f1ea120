# shellcheck shell=bash
# Shared by tests/mpi/test_* and tests/slurm/test_mpi.sh; sourced. Needs STAGE.
# Gives: $source (this folder), $work (a directory of the test, removed at its end), $lib, and functions.
set -u
: "${STAGE:?the prefix of the staged installation}"
source=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
lib=$STAGE/lib/slurmscope
name=$(basename "$0" .sh)
failures=0 checks=0

# What a user may have in his shell must not decide a test.
unset LD_PRELOAD SLURMSCOPE SLURMSCOPE_SPOOL SLURMSCOPE_VERBOSE

fail() {
  echo "$name: $*" >&2
  failures=$((failures + 1))
}
summary() {
  echo "$((checks - failures)) passed, $failures failed"
  [ "$failures" -eq 0 ]
}

# The MPIs that are here and that the library was built for.
mpis() {
  local mpi
  for mpi in openmpi mpich; do
    [ -e "$lib/slurmscope-$mpi.so" ] && command -v "mpicc.$mpi" >/dev/null && command -v "mpirun.$mpi" >/dev/null && echo "$mpi"
  done
}

# build_known MPI DIRECTORY: the known program as c, mpifh, mpi, f08.
build_known() {
  local fortran="mpif90.$1 -w -O1"
  mpicc."$1" -w -O1 -o "$2/c" "$source/known.c" &&
    (cd "$2" && $fortran -fallow-argument-mismatch -DUSE_MPIFH -o mpifh "$source/known.F90" &&
      $fortran -o mpi "$source/known.F90" && $fortran -DUSE_F08 -o f08 "$source/known.F90")
}

# run_mpi MPI RANKS COMMAND...: bounded, and with what root and few cores need.
run_mpi() {
  local mpi=$1 ranks=$2
  shift 2
  if [ "$mpi" = openmpi ]; then
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
      OMPI_MCA_btl_vader_single_copy_mechanism=none timeout -k 5 60 mpirun.openmpi --oversubscribe -n "$ranks" "$@"
  else
    timeout -k 5 60 mpirun.mpich -n "$ranks" "$@"
  fi
}

# record MPI MODE RANKS COMMAND...: runs it under `slurmscope record` in $run, which is made anew: its output, the
# run folder out. Gives the command's exit status. record_options: more options of record.
record_options=()
record() {
  local mpi=$1 mode=$2 ranks=$3
  shift 3
  rm -rf "$run"
  mkdir "$run"
  export -f run_mpi
  (cd "$run" && "$STAGE/bin/slurmscope" record --mode "$mode" "${record_options[@]}" --output "$run/out" -- \
    bash -c 'run_mpi "$@"' run_mpi "$mpi" "$ranks" "$@") >"$run/stdout" 2>"$run/stderr" </dev/null
}

# record_and_check MPI MODE RANKS COMMAND...: records it; the program (the command's last word that is an executable
# file) must say "OK <its name>", its report must be as $source/<its name>.json says, its trace consistent.
record_and_check() {
  local mpi=$1 mode=$2 known word rc
  for word in "${@:4}"; do [ -f "$word" ] && [ -x "$word" ] && known=$(basename "$word"); done
  record "$@"
  rc=$?
  if [ $rc != 0 ] || ! grep -qx "OK $known" "$run/stdout"; then
    fail "$known $mpi $mode: exit $rc, $(head -c 500 "$run/stdout" "$run/stderr")"
  elif ! "$STAGE/bin/slurmscope" report --json "$run/out" >"$run/report.json"; then
    fail "$known $mpi $mode: no report"
  elif ! "$source/check_report" "$source/$known.json" "$run/report.json"; then
    fail "$known $mpi $mode: see above"
  elif ! "$STAGE/bin/slurmscope" verify "$run"/out/*.sst >"$run/verify" 2>&1; then
    fail "$known $mpi $mode: $(cat "$run/verify")"
  else
    return 0
  fi
  return 1
}

# new_spool: a spool directory that no drainer follows, in $spool.
new_spool() {
  spool=$(mktemp -d /dev/shm/slurmscope-test.XXXXXX)
}
