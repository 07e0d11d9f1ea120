# All of the JSON of a comparison.
cd "$golden/v1" && "$slurmscope" compare --base partition:baremetal --cand partition:virtual six --json
