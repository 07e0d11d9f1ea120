# A mode that does not exist.
"$slurmscope" record --mode fast -- true
