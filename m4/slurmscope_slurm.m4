# The SPANK plugin must be compiled against the spank.h of the Slurm that loads it.
AC_DEFUN([SLURMSCOPE_SLURM], [
  AC_ARG_WITH([slurm], [AS_HELP_STRING([--with-slurm=DIR], [prefix that holds include/slurm/spank.h])],
    [AS_CASE([$withval], [yes|no], [], [SLURM_CPPFLAGS="-I$withval/include"])])
  have_slurm=no slurm_version=none
  AS_IF([test "x$with_slurm" != xno], [
    save_CPPFLAGS="$CPPFLAGS"; CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
    AC_CHECK_HEADER([slurm/spank.h], [
      have_slurm=yes
      slurm_version=`printf '%s\n' '#include <slurm/slurm_version.h>' 'V SLURM_VERSION_NUMBER' | $CPP $CPPFLAGS - 2>/dev/null | sed -n 's/^V *//p'`
    ])
    CPPFLAGS="$save_CPPFLAGS"
    AS_IF([test "x$with_slurm" = xyes && test $have_slurm = no], [AC_MSG_ERROR([slurm/spank.h not found (Debian: slurm-wlm-basic-plugins-dev)])])
  ])
  AM_CONDITIONAL([HAVE_SLURM], [test $have_slurm = yes])
  AC_SUBST([SLURM_CPPFLAGS])
])
