# The sampler's counters are optional: without PAPI, each that is asked for has a reason in the trace.
AC_DEFUN([SLURMSCOPE_SAMPLER], [
  PKG_CHECK_MODULES([PAPI], [papi], [have_papi=yes], [have_papi=no])
  AS_IF([test $have_papi = yes], [AC_DEFINE([HAVE_PAPI], [1], [PAPI counters can be read])])
])
