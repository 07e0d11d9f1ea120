# record ends by the signal that ended the command.
export SLURMSCOPE_LIBDIR=/nonexistent
"$slurmscope" record -- bash -c 'kill -TERM $$' 2>/dev/null
echo "$?"
