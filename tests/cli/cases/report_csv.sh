# Tables as CSV files, which are not replaced.
"$slurmscope" report "$golden/v1/exchange" --csv tables && ls tables && cat tables/matrix.csv
"$slurmscope" report "$golden/v1/exchange" --csv tables
