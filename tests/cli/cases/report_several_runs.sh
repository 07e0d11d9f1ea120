# A folder of several runs is not one run.
cd "$golden/v1" && "$slurmscope" report six
