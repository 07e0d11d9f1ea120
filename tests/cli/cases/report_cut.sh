# A cut file: a clear loss, everything before it shown.
cd "$golden/broken" && "$slurmscope" report cut.sst
