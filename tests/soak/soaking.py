"""Shared by tests/soak/test_*: starts counted.c, waits until it counts, compares a report with the counts.

A test kills something at a random moment, then check_counts() says what is missing. Processes are ended by pid, and
only those that the test has started. The random numbers' seed is printed, and taken from SLURMSCOPE_SEED.
"""
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

STAGE = os.environ["STAGE"]
SCOPE = os.path.join(STAGE, "bin/slurmscope")
HERE = os.path.dirname(os.path.realpath(__file__))
SEED = int(os.environ.get("SLURMSCOPE_SEED", random.randrange(1 << 32)))
RANDOM = random.Random(SEED)
LIMIT = 120  # seconds for anything that must end

os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
for name in ("LD_PRELOAD", "SLURMSCOPE", "SLURMSCOPE_SPOOL"):
    os.environ.pop(name, None)


class Failure(Exception):
    """Something is not as it must be."""


def compile_counted(mpi, folder, name="counted"):
    program = os.path.join(folder, f"{name}.{mpi}")
    subprocess.run([f"mpicc.{mpi}", "-w", "-O1", "-o", program, os.path.join(HERE, f"{name}.c")], check=True)
    return program


def wait_until(what, condition, limit=LIMIT):
    end = time.monotonic() + limit
    while not (result := condition()):
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {limit} s")
        time.sleep(0.01)
    return result


def read_counts(folder):
    """{(host, pid): (messages, writes)} of the ranks that have begun."""
    counts = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read(16)
        if len(data) == 16:
            host, _, pid = name.rpartition(".")
            counts[host, int(pid)] = struct.unpack("<QQ", data)
    return counts


def wait_for_ranks(folder, process):
    """Both ranks' (host, pid), once both count."""
    def both():
        if process.poll() is not None:
            raise Failure(f"ended before it began: {process.returncode}")
        counts = read_counts(folder)
        return list(counts) if len(counts) == 2 and all(c[0] > 0 for c in counts.values()) else None
    return wait_until("both ranks count", both)


def run_tool(*arguments):
    result = subprocess.run([SCOPE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False)
    if result.returncode != 0:
        raise Failure(f"slurmscope {' '.join(arguments)}: {result.stderr[:500]}{result.stdout[:500]}")
    return result.stdout


def check_counts(run, folder, may_be_ahead, remarks=()):
    """The run's report has each rank's counts; at most one call more of each kind if `may_be_ahead` (it was killed).

    `remarks`: reasons that the list of losses may name, with nothing lost."""
    run_tool("verify", run)
    report = json.loads(run_tool("report", "--json", run))
    lost = [loss for loss in report["losses"] if loss["reason"] not in remarks or loss["count"] != 0]
    if lost:
        raise Failure(f"losses: {lost}")
    counts = read_counts(folder)
    seen = sorted(tuple({c["name"]: c["count"] for c in rank["calls"]}.get(name, 0) for name in ("MPI_Sendrecv", "pwrite"))
                  for rank in report["ranks"])
    wanted = sorted(counts.values())
    if len(seen) != len(wanted):
        raise Failure(f"{len(seen)} ranks in the report, {len(wanted)} ran")
    for got, want in zip(seen, wanted):
        for g, w in zip(got, want):
            if not w <= g <= w + (1 if may_be_ahead else 0):
                raise Failure(f"(MPI_Sendrecv, pwrite): {seen} in the report, {wanted} were made")
    return sum(w for pair in wanted for w in pair)


def repeat(what, times, attempt):
    """Runs attempt(folder) so many times; ends the test with the closing line."""
    print(f"{what}: {times} times, SLURMSCOPE_SEED={SEED}", flush=True)
    passed = failed = calls = 0
    for i in range(times):
        with tempfile.TemporaryDirectory(prefix="slurmscope-soak.", dir="/var/tmp") as folder:
            os.mkdir(os.path.join(folder, "counts"))
            try:
                calls += attempt(folder)
                passed += 1
            except (Failure, OSError, ValueError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"{what} {i}: {error}", flush=True)
    print(f"{what}: {calls} calls were compared", flush=True)
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed else 0)


def processes_with(*words):
    """The pids of processes all of whose words (bytes) are in the command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read()
        except OSError:
            continue
        if all(word in line for word in words) and int(pid) != os.getpid():
            found.append(int(pid))
    return found


def start(command, folder):
    """In a session of its own, output in FOLDER/out."""
    with open(os.path.join(folder, "out"), "wb") as out:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)


def end(process):
    """Waits for its end; a process that does not end is killed with what it started."""
    try:
        return process.wait(LIMIT)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise Failure("did not end") from error
