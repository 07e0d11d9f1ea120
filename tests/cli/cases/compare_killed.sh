# A run that was killed is refused. (L12)
cd "$golden/v1" && "$slurmscope" compare --base "job:7" --cand partition:virtual --force NRUNS killed six
