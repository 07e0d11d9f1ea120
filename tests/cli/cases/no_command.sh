# Without a command: usage error.
"$slurmscope"
