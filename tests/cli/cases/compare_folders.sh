# Sides named by folders, with the other option names.
mkdir baremetal virtual
for i in 0 2 4; do cp -r "$golden/v1/six/slurmscope-10$i" baremetal; cp -r "$golden/v1/six/slurmscope-10$((i + 1))" virtual; done
"$slurmscope" compare --baseline baremetal/ --contender virtual/ | grep VERDICT
