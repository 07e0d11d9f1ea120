# No run folder here: says what to name.
"$slurmscope" report
