# A full disk is a failure.
"$slurmscope" report "$golden/v1/exchange" >/dev/full
