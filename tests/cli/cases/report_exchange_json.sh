# All of the JSON of a small run.
cd "$golden/v1" && "$slurmscope" report exchange --json
