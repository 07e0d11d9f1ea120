# A job id without a folder: says where it looked.
"$slurmscope" report 4711
