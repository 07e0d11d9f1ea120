# An empty file.
cd "$golden/broken" && "$slurmscope" report empty.sst
