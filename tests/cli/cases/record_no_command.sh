# No command: usage error.
"$slurmscope" record
