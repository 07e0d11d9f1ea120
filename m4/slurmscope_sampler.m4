# The sampler's counters are optional: without PAPI, each that is asked for has a reason in the trace.
# libpapi is loaded by name at run time, so find out the name that linking would record.
AC_DEFUN([SLURMSCOPE_SAMPLER], [
  PKG_CHECK_MODULES([PAPI], [papi], [have_papi=yes], [have_papi=no])
  AS_IF([test $have_papi = yes], [
    AC_MSG_CHECKING([for the name of libpapi at run time])
    save_CPPFLAGS="$CPPFLAGS"; save_LIBS="$LIBS"
    CPPFLAGS="$CPPFLAGS $PAPI_CFLAGS"; LIBS="$PAPI_LIBS $LIBS"
    papi_soname=
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <papi.h>]], [[return PAPI_is_initialized();]])],
      [papi_soname=`readelf -d conftest$EXEEXT | grep NEEDED | grep -o 'libpapi@<:@^@:>@@:>@*'`])
    CPPFLAGS="$save_CPPFLAGS"; LIBS="$save_LIBS"
    AC_MSG_RESULT([${papi_soname:-none}])
    AS_IF([test -n "$papi_soname"],
      [AC_DEFINE([HAVE_PAPI], [1], [PAPI counters can be read])
       AC_DEFINE_UNQUOTED([PAPI_SONAME], ["$papi_soname"], [what dlopen() finds PAPI by])],
      [have_papi=no])
  ])
])
