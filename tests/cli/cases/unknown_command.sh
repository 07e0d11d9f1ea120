# A command that does not exist: usage error.
"$slurmscope" frobnicate
