# Expressions that overlap: usage error.
cd "$golden/v1" && "$slurmscope" compare --base partition:virtual --cand "*" six
