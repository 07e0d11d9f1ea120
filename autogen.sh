#!/bin/sh
# Makes ./configure from configure.ac. Needed after a checkout and after a change of configure.ac, m4/ or a local.mk.
cd "$(dirname "$0")" && exec autoreconf -fi
