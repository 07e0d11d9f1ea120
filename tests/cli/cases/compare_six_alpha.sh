# With 90 % asked for the same runs decide.
cd "$golden/v1" && "$slurmscope" compare --base partition:baremetal --cand virt:kvm --alpha .10 six/*
