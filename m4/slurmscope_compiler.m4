# C++20, hidden symbols, warnings that catch what breaks an interposer.
AC_DEFUN([SLURMSCOPE_COMPILER], [
  AC_LANG_PUSH([C++])
  save_CXXFLAGS="$CXXFLAGS"
  CXXFLAGS="$CXXFLAGS -std=gnu++20"
  AC_MSG_CHECKING([whether $CXX accepts C++20])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <version>
#if __cplusplus < 202002L
#error
#endif]], [])], [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no]); AC_MSG_ERROR([a C++20 compiler is needed (g++ 12 or newer)])])
  CXXFLAGS="$save_CXXFLAGS"
  AC_LANG_POP([C++])
  CXX_STD="-std=gnu++20 -fvisibility=hidden -fvisibility-inlines-hidden"
  WARNINGS="-Wall -Wextra -Wshadow -Wvla -Wformat=2 -Wno-format-nonliteral -Wno-unused-parameter -Wno-missing-field-initializers"
  # Code that runs inside the application or slurmstepd: no C++ runtime, see profiler/README.md.
  INJECTED_FLAGS="-std=gnu++20 -fvisibility=hidden -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-stack-protector -U_FORTIFY_SOURCE"
  AC_SUBST([CXX_STD])
  AC_SUBST([WARNINGS])
  AC_SUBST([INJECTED_FLAGS])
])
