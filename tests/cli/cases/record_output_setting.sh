# The setting of jobs is not silently left aside.
"$slurmscope" record --settings output=there -- true
