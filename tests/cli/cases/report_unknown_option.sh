# An option that does not exist: usage error.
"$slurmscope" report --frobnicate
