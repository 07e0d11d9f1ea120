# The sampler is optional: without PAPI there are no counters, without libunwind no call stacks.
AC_DEFUN([SLURMSCOPE_SAMPLER], [
  PKG_CHECK_MODULES([PAPI], [papi], [have_papi=yes], [have_papi=no])
  PKG_CHECK_MODULES([LIBUNWIND], [libunwind], [have_libunwind=yes], [have_libunwind=no])
  AS_IF([test $have_papi = yes], [AC_DEFINE([HAVE_PAPI], [1], [PAPI counters can be read])])
  AS_IF([test $have_libunwind = yes], [AC_DEFINE([HAVE_LIBUNWIND], [1], [call stacks can be unwound])])
])
