# Without the libraries the command runs all the same, with its exit code.
SLURMSCOPE_LIBDIR=/nonexistent "$slurmscope" record -- bash -c 'echo out; exit 7'
