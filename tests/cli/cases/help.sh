# The help lists every command.
"$slurmscope" --help
