# A key that does not exist: lists the keys.
cd "$golden/v1" && "$slurmscope" compare --base colour:red --cand partition:virtual six
