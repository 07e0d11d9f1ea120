# A file that is no trace.
cd "$golden/broken" && "$slurmscope" report text.sst
