# A step that is not there: lists those that are.
cd "$golden/v1" && "$slurmscope" report exchange --step 9
