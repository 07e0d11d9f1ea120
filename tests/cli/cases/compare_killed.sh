# A run that was killed is refused.
cd "$golden/v1" && "$slurmscope" compare --base "job:7" --cand partition:virtual --force NRUNS killed six
