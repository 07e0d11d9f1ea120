# JSON into a file, which is not replaced.
"$slurmscope" report --json "$golden/v1/exchange" out.json && grep -c MPI_Send out.json
"$slurmscope" report --json=out.json "$golden/v1/exchange"
