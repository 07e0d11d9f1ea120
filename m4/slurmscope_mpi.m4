# SLURMSCOPE_ONE_MPI(NAME, MACRO, WRAPPERS): finds the compiler wrapper whose mpi.h defines MACRO.
# Found by the macro, never by the name: `mpicc` may be either. Only the headers are used: the
# backends look every MPI symbol up at run time.
AC_DEFUN([SLURMSCOPE_ONE_MPI], [
  AC_MSG_CHECKING([for $1])
  have_$1=no
  for wrapper in $3; do
    flags=`$wrapper -show 2>/dev/null | tr ' ' '\n' | grep '^-I' | tr '\n' ' '`
    AS_IF([test -n "$flags"], [
      save_CPPFLAGS="$CPPFLAGS"; CPPFLAGS="$CPPFLAGS $flags"
      AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
#ifndef $2
#error not this one
#endif]], [])], [have_$1=yes; $1_CC=$wrapper; $1_CPPFLAGS="$flags"])
      CPPFLAGS="$save_CPPFLAGS"
    ])
    AS_IF([test $have_$1 = yes], [break])
  done
  AC_MSG_RESULT([$have_$1 ($$1_CC)])
  AC_SUBST([$1_CPPFLAGS])
  AC_SUBST([$1_CC])
])

AC_DEFUN([SLURMSCOPE_MPI], [
  SLURMSCOPE_ONE_MPI([openmpi], [OPEN_MPI], [${OPENMPI_CC:-} mpicc.openmpi mpicc])
  SLURMSCOPE_ONE_MPI([mpich], [MPICH_VERSION], [${MPICH_CC:-} mpicc.mpich mpicc])
  AM_CONDITIONAL([HAVE_OPENMPI], [test $have_openmpi = yes])
  AM_CONDITIONAL([HAVE_MPICH], [test $have_mpich = yes])
])
