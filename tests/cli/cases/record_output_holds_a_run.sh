# A folder that holds a run is not reused.
cp -r "$golden/v1/exchange" run
"$slurmscope" record -o run -- true
