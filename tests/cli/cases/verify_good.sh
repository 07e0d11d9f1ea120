# Good files, a line each.
cd "$golden/v1" && "$slurmscope" verify imbalance exchange summary killed
