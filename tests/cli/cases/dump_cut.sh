# Events before the damage are printed; exit code 1.
cd "$golden/broken" && "$slurmscope" dump --events cut.sst
