// Time per call as the median of many short windows: one long mean would hold every preemption.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WINDOWS 600

static double window_ns[WINDOWS];

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int by_size(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/// Prints "NAME MEDIAN" (ns per call) of the windows measured so far.
static void print_rate(const char *name) {
  qsort(window_ns, WINDOWS, sizeof window_ns[0], by_size);
  printf("%s %.2f\n", name, window_ns[WINDOWS / 2]);
}

/// Runs STATEMENTS, which make CALLS calls, ROUNDS times per window.
#define MEASURE(name, rounds, calls, statements)                                   \
  do {                                                                             \
    for (int window = -10; window < WINDOWS; window++) {                           \
      double start = now_ns();                                                     \
      for (int round = 0; round < (rounds); round++) { statements; }               \
      double end = now_ns();                                                       \
      if (window >= 0) window_ns[window] = (end - start) / ((double)(rounds) * (calls)); \
    }                                                                              \
    print_rate(name);                                                              \
  } while (0)
