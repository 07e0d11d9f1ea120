# record ends by the signal that ended the command.
exec 2>/dev/null  # bash tells of the signal there
export SLURMSCOPE_LIBDIR=/nonexistent
"$slurmscope" record -- bash -c 'kill -TERM $$'
echo "$?"
