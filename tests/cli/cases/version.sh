# The version names the trace format.
"$slurmscope" --version
