# Four ranks, one slower: exact times, in trace mode.
cd "$golden/v1" && "$slurmscope" report imbalance
