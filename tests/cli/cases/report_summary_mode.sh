# The same run in summary mode: the same times.
cd "$golden/v1" && "$slurmscope" report summary
