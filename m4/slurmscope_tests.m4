# Unit tests use GoogleTest; without it they are left out and ./check says so.
AC_DEFUN([SLURMSCOPE_TESTS], [
  PKG_CHECK_MODULES([GTEST], [gtest_main gmock], [have_gtest=yes], [have_gtest=no])
  AM_CONDITIONAL([HAVE_GTEST], [test $have_gtest = yes])
])
