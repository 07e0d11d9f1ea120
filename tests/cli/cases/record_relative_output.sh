# (E13) A relative run folder is where the command was started, and so is the default one, wherever the program goes.
away='import os
os.chdir("/")
null = os.open("/dev/null", os.O_WRONLY)
for _ in range(100): os.pwrite(null, b"x", 0)
os.chdir("/tmp")
if os.fork() == 0: os.execvp("/usr/bin/python3", ["python3", "-Ic", "import os\nfor _ in range(200): os.stat(\"/etc\")"])
os.wait()'
mkdir -p here/deep && cd here/deep
"$slurmscope" record --settings io_calls=0 -o ../out/run -- /usr/bin/python3 -Ic "$away" 2>../../said || echo "exit $?"
"$slurmscope" record --settings io_calls=0 -- /usr/bin/python3 -Ic "$away" 2>>../../said || echo "exit $?"
cd ../..
find . -name '*.sst' | sed -E 's/-[0-9]+-[0-9]+-[0-9]+/-DATE/; s|[^/]*$|FILE|' | sort
for run in here/out/run here/deep/slurmscope-*; do
  "$slurmscope" report --json "$run" | python3 -c 'import json, sys
r = json.load(sys.stdin)
calls = [{c["name"]: c["count"] for c in p["calls"]} for p in r["ranks"] + r["processes"]]
print(sorted(c["pwrite"] for c in calls if "pwrite" in c), sum(c.get("stat", 0) >= 200 for c in calls))'
done
