# Rank 1 was killed by SIGKILL.
cd "$golden/v1" && "$slurmscope" report killed
