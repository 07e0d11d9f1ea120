# Packets as JSON lines.
cd "$golden/v1" && "$slurmscope" dump exchange | head -n 3
