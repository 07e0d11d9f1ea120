# How programs end and what they start: the program is unchanged, and what it did is in the report.
EXTRA_DIST += tests/life/check_children tests/life/check_ends tests/life/children.c tests/life/ends.c \
  tests/life/strangers.cc tests/life/test_children tests/life/test_ends tests/life/test_strangers
