#!/bin/bash
# The known MPI program under srun on two nodes, Open MPI by PMIx and MPICH by PMI-2, with the real library
# and drainer: the report has exactly the known counts, bytes and matrix, in four languages.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/slurm_case.sh"
known=$(readlink -f "$tests/../mpi")
[ -x "$STAGE/bin/slurmscope" ] || { fail "$STAGE/bin/slurmscope is missing"; exit 1; }
use_plugin ""

# compile MPI: the known program as c-MPI, mpifh-MPI, mpi-MPI, f08-MPI.
compile() {
  local fortran="mpif90.$1 -w -O1"
  mpicc."$1" -w -O1 -o "c-$1" "$known/known.c" &&
    $fortran -fallow-argument-mismatch -DUSE_MPIFH -o "mpifh-$1" "$known/known.F90" &&
    $fortran -o "mpi-$1" "$known/known.F90" && $fortran -DUSE_F08 -o "f08-$1" "$known/known.F90"
}

tested=0
for mpi in openmpi mpich; do
  [ -e "$STAGE/lib/slurmscope/slurmscope-$mpi.so" ] && command -v "mpicc.$mpi" >/dev/null || continue
  compile "$mpi" || { fail "the known program does not compile with $mpi"; continue; }
  [ $mpi = openmpi ] && type=pmix || type=pmi2
  for program in c mpifh mpi f08; do
    tested=$((tested + 1))
    run=run-$program-$mpi
    if ! timeout 60 srun --slurmscope="trace,output=$work/$run" --mpi=$type -N2 -n2 "./$program-$mpi" >"$run.out" 2>&1; then
      fail "$run failed: $(head -c 500 "$run.out")"
      continue
    fi
    [ "$(cat "$run.out")" = "OK known" ] || fail "$run printed: $(head -c 500 "$run.out")"
    "$STAGE/bin/slurmscope" report --json "$run" >"$run.json" || { fail "$run: no report"; continue; }
    "$known/check_report" "$known/expected.json" "$run.json" || fail "$run: see above"
  done
done
[ $tested -gt 0 ] || { echo "no MPI to test with"; exit 77; }
