#!/bin/bash
# Descriptor numbers, and how many there are before EMFILE, are the program's own: idle, recording, under
# `record` with samples, and in an MPI program after MPI_Init. (E10)
. "$(dirname "$0")/io_lib.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
$compiler -O2 -w -pthread -o "$work/numbers" "$here/numbers.c" || exit 1
programs=("$work/numbers")
for mpi in openmpi mpich; do
  command -v mpicc.$mpi >/dev/null || { echo "no mpicc.$mpi: left out"; continue; }
  mpicc.$mpi -O2 -w -pthread -DWITH_MPI -o "$work/numbers.$mpi" "$here/numbers.c" || exit 1
  programs+=("$work/numbers.$mpi")
done

for program in "${programs[@]}"; do
  name=$(basename "$program")
  timeout 120 "$program" >"$work/want" 2>"$work/err" </dev/null || bad "$name: fails by itself: $(head -n 3 "$work/err")"
  [ "$(wc -l <"$work/want")" -gt 20 ] && ok || bad "$name: says nothing"
  for settings in off trace,io_calls=4294967295,io_bytes=1099511627776 trace,io_calls=1000 "$at_once"; do
    recorded "$settings" "$program" </dev/null && ok || bad "$name with $settings: exit $?: $(head -n 3 "$work/err")"
    diff "$work/want" "$work/out" >"$work/diff" && ok || bad "$name with $settings: $(head -n 10 "$work/diff")"
  done
  [ -n "$(ls "$spool")" ] && ok || bad "$name: was not recorded"
  timeout 120 "$STAGE/bin/slurmscope" record --settings "io_calls=0,io_bytes=0,sample=99" -o "$work/run.$name" -- \
    "$program" >"$work/out" 2>"$work/err" </dev/null && ok || bad "$name recorded: exit $?: $(head -n 3 "$work/err")"
  diff "$work/want" "$work/out" >"$work/diff" && ok || bad "$name recorded: $(head -n 10 "$work/diff")"
  "$STAGE/bin/slurmscope" verify "$work/run.$name" >"$work/out" 2>&1 && ok || bad "$name: $(cat "$work/out")"
done
finish
