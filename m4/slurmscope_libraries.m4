# What the drainer and the command line tools are built on. None of it enters the application.
AC_DEFUN([SLURMSCOPE_LIBRARIES], [
  AC_PATH_PROG([PROTOC], [protoc])
  AS_IF([test -z "$PROTOC"], [AC_MSG_ERROR([protoc not found (Debian: protobuf-compiler)])])
  PKG_CHECK_MODULES([PROTOBUF], [protobuf >= 3.12])
  PKG_CHECK_MODULES([ZSTD], [libzstd >= 1.4])
  PKG_CHECK_MODULES([FMT], [fmt >= 9])
  PKG_CHECK_MODULES([LIBDW], [libdw], [], [AC_MSG_ERROR([libdw not found (Debian: libdw-dev)])])
  AC_LANG_PUSH([C++])
  save_CPPFLAGS="$CPPFLAGS"; save_CXXFLAGS="$CXXFLAGS"; CXXFLAGS="$CXXFLAGS -std=gnu++20"
  AC_CHECK_HEADER([protozero/pbf_reader.hpp], [], [AC_MSG_ERROR([protozero not found (Debian: libprotozero-dev)])])
  AC_CHECK_HEADER([CLI/CLI.hpp], [], [AC_MSG_ERROR([CLI11 not found (Debian: libcli11-dev)])])
  AC_CHECK_HEADER([nlohmann/json.hpp], [], [AC_MSG_ERROR([nlohmann-json not found (Debian: nlohmann-json3-dev)])])
  AC_CHECK_HEADER([boost/math/distributions/students_t.hpp], [], [AC_MSG_ERROR([Boost.Math not found (Debian: libboost-dev)])])
  CPPFLAGS="$save_CPPFLAGS"; CXXFLAGS="$save_CXXFLAGS"
  AC_LANG_POP([C++])
])
