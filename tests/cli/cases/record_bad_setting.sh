# A setting that cannot be parsed is named.
"$slurmscope" record --settings ring_kib=x -- true
