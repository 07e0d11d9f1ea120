# Events as CSV.
cd "$golden/v1" && "$slurmscope" dump --csv exchange
