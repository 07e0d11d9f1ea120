# A path with escape codes and quotes steers neither the terminal nor the JSON. (L13)
cd "$golden/v1" && "$slurmscope" report strange
"$slurmscope" report strange --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["files"][0]["path"])'
