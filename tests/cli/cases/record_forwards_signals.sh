# A signal to record reaches the command, which says that it is ready through a FIFO: nothing here waits for a time.
export SLURMSCOPE_LIBDIR=/nonexistent
mkfifo ready never
"$slurmscope" record -- bash -c 'trap "echo got TERM; exit 5" TERM; exec 3<>never; echo >ready; read -r _ <&3' 2>/dev/null &
read -r _ <ready
kill -TERM $!
wait $!
echo "$?"
