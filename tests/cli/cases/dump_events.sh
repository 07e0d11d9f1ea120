# Events as text.
cd "$golden/v1" && "$slurmscope" dump --events exchange
