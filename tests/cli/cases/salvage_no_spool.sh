# A folder that holds no spool, and one that is not there.
mkdir empty
"$slurmscope" salvage empty
"$slurmscope" salvage nowhere
