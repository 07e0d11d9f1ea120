# Real applications from Debian; ./check --apps runs them.
EXTRA_DIST += tests/apps/check_app tests/apps/check_fio tests/apps/check_polls tests/apps/counter.c tests/apps/exchange.py tests/apps/lib.sh \
  tests/apps/openfoam/0/U tests/apps/openfoam/0/p tests/apps/openfoam/constant/transportProperties \
  tests/apps/openfoam/system/blockMeshDict tests/apps/openfoam/system/controlDict \
  tests/apps/openfoam/system/decomposeParDict tests/apps/openfoam/system/fvSchemes \
  tests/apps/openfoam/system/fvSolution tests/apps/qe/silicon.in tests/apps/test_fio tests/apps/test_hpcc tests/apps/test_lammps \
  tests/apps/test_mpi4py tests/apps/test_openfoam tests/apps/test_quantum_espresso
