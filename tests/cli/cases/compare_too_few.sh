# One run on a side: refused, with what to do.
cd "$golden/v1" && "$slurmscope" compare --base job:100 --cand partition:virtual six
