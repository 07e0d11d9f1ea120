"""The body of test_slurmstepd, on its cluster.

usage: kill_slurmstepd.py TIMES
With its slurmstepd a node's step has lost who ends it: the drainer must see that by itself, write the file, and go.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import soaking
from soaking import RANDOM, Failure

programs = tempfile.TemporaryDirectory(prefix="slurmscope-soak.", dir="/var/tmp")
PROGRAMS = {mpi: soaking.compile_counted(mpi, programs.name) for mpi in ("openmpi", "mpich")}
TYPES = {"openmpi": "pmix", "mpich": "pmi2"}


def job_of(folder):
    """The id of the job whose ranks count in FOLDER, as a number; from the environment of one of them."""
    for pid in soaking.processes_with(os.path.join(folder, "counts").encode() + b"\0", b"counted."):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                found = re.search(rb"(?:^|\0)SLURM_JOB_ID=(\d+)\0", file.read())
        except OSError:
            continue
        if found:
            return int(found.group(1))
    return None


def attempt(folder):
    mpi = RANDOM.choice(list(PROGRAMS))
    counts, run = os.path.join(folder, "counts"), os.path.join(folder, "run")
    process = soaking.start(["srun", f"--slurmscope=trace,output={run}", f"--mpi={TYPES[mpi]}", "-N2", "-n2", PROGRAMS[mpi],
                             counts, "1000000000"], folder)
    job = None
    try:
        soaking.wait_for_ranks(counts, process)
        job = soaking.wait_until("the job's id", lambda: job_of(folder))
        time.sleep(RANDOM.random() * 0.3)  # the moment is the point, not a wait
        steps = soaking.processes_with(b"slurmstepd: [%d.0]" % job)
        if len(steps) != 2:
            raise Failure(f"{len(steps)} slurmstepd of job {job}")
        os.kill(RANDOM.choice(steps), signal.SIGKILL)
    finally:
        if job is not None:
            subprocess.run(["scancel", str(job)], check=False, timeout=soaking.LIMIT)
        # Nobody is left to end the ranks of the node that lost its slurmstepd.
        for pid in soaking.processes_with(counts.encode() + b"\0", b"counted."):
            if b"srun" not in open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")[0]:
                os.kill(pid, signal.SIGKILL)
        # srun may wait for its slurmstepd for ever.
        process.kill()
        process.wait()
    spool = b"slurmscope-%d-%d.0" % (os.getuid(), job)
    soaking.wait_until("the drainers end", lambda: not soaking.processes_with(b"slurmscope-drain\0", spool))
    return soaking.check_counts(run, counts, may_be_ahead=True, remarks=("unclean end",))


soaking.repeat("killed slurmstepd", int(sys.argv[1]), attempt)
