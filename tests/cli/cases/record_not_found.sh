# A command that is not found: 127.
SLURMSCOPE_LIBDIR=/nonexistent "$slurmscope" record -- no-such-command-here
