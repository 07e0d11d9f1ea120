# An option that does not exist.
"$slurmscope" record --frobnicate -- true
