# Three runs on each side: slower, but 95 % is out of reach.
cd "$golden/v1" && "$slurmscope" compare --base partition:baremetal --cand partition:virtual six
