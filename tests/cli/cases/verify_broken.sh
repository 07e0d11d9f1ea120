# Broken files: what and where.
cd "$golden/broken" && "$slurmscope" verify *.sst
