# A margin that is no number.
cd "$golden/v1" && "$slurmscope" compare --base partition:baremetal --cand partition:virtual --margin x six
