# A job id finds its folder; no name means the newest run.
cp -r "$golden/v1/six/slurmscope-100" "$golden/v1/six/slurmscope-101" .
touch -d '2020-01-01' slurmscope-100/*
"$slurmscope" report --json 100 | grep -m1 '"id"'
"$slurmscope" report --json | grep -m1 '"id"'
