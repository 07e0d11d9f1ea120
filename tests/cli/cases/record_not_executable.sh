# A command that cannot be executed: 126.
touch file; SLURMSCOPE_LIBDIR=/nonexistent "$slurmscope" record -- ./file
