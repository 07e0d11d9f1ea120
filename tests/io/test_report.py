#!/usr/bin/env python3
"""The way of known I/O through the whole tool: `slurmscope record`, then `report --json`.

What files[] and calls[] must say is summed up from known_io.expected, the list that test_events.sh
compares with the rings. Both modes must agree on it.
"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SLURMSCOPE = pathlib.Path(os.environ["STAGE"]) / "bin" / "slurmscope"
OPENS = {"connect", "accept", "accept4", "open", "openat", "creat", "fopen", "freopen", "opendir"}
READS = {"read", "pread", "readv", "preadv", "preadv2", "fread", "fgets", "getline", "getdelim", "fscanf",
         "sendfile(source)", "copy_file_range(source)", "splice(source)", "aio_return", "read(socket)", "readv(socket)", "recv", "recvfrom", "recvmsg", "recvmmsg"}
WRITES = {"write", "pwrite", "writev", "pwritev", "pwritev2", "fwrite", "fputs", "puts", "fprintf", "printf", "dprintf",
          "sendfile", "copy_file_range", "splice", "aio_return(write)", "write(socket)", "writev(socket)", "send", "sendto", "sendmsg", "sendmmsg",
          "sendfile(socket)"}
FILE_KEYS = ("opens", "reads", "writes", "bytes_read", "bytes_written")

passed = failed = 0


def check(what, got, wanted):
    global passed, failed
    if got == wanted:
        passed += 1
        return
    failed += 1
    print(f"FAIL {what}")
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key in sorted(set(got) | set(wanted)):
            if got.get(key) != wanted.get(key):
                print(f"  {key}: got {got.get(key)}, wanted {wanted.get(key)}")
    else:
        print(f"  got {got}, wanted {wanted}")


def expected(part):
    """Files and calls of one part, each process by itself, as multisets of sums."""
    files, calls = collections.Counter(), collections.Counter()
    lines, wanted = (HERE / "known_io.expected").read_text().splitlines(), False
    for line in lines:
        if line.startswith("["):
            wanted = line == f"[{part}]"
        elif wanted and line and not line.startswith("#"):
            process, call, _, size, _, outcome, path = line.split(" ", 6)
            size = int(size.split("=")[1])
            calls[call, "count"] += 1
            calls[call, "bytes"] += size
            if outcome == "ok" and path != "-":
                files[process, path, "opens"] += call in OPENS
                files[process, path, "reads"] += call in READS
                files[process, path, "writes"] += call in WRITES
                files[process, path, "bytes_read"] += size if call in READS else 0
                files[process, path, "bytes_written"] += size if call in WRITES else 0
    rows = sorted({(process, path) for process, path, _ in files})
    return sorted((path, *(files[process, path, key] for key in FILE_KEYS)) for process, path in rows), calls


def record(directory, mode, parts, settings=""):
    run, work = directory / "run", directory / "work"
    shutil.rmtree(run, ignore_errors=True)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    done = subprocess.run(
        [SLURMSCOPE, "record", "--mode", mode, "--settings", "io_calls=0,io_bytes=0" + settings, "-o", run, "--",
         directory / "known_io", *parts], cwd=work, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        check(f"{mode} {parts}: exit status ({done.stderr.strip()})", done.returncode, 0)
        return None, work
    report = subprocess.run([SLURMSCOPE, "report", "--json", run], capture_output=True, text=True, timeout=300)
    check(f"{mode} {parts}: report's exit status ({report.stderr.strip()})", report.returncode, 0)
    return (json.loads(report.stdout) if report.returncode == 0 else None), work


def files_of(report, work):
    """Ports are not known beforehand: peers that differ in nothing else are one."""
    def short(path):
        path = "." if path == str(work) else path.removeprefix(f"{work}/")
        return re.sub(r"^port\d+$", "portPORT", re.sub(r"(:127\.0\.0\.1):\d+$", r"\1:PORT", path))

    rows, sockets = [], collections.defaultdict(lambda: [0] * len(FILE_KEYS))
    for entry in report["files"]:
        path, numbers = short(entry["path"]), [entry[key] for key in FILE_KEYS]
        if path.endswith(":PORT"):
            sockets[path] = [a + b for a, b in zip(sockets[path], numbers)]
        else:
            rows.append((path, *numbers))
    return sorted(rows + [(path, *numbers) for path, numbers in sockets.items()])


def calls_of(report):
    calls = collections.Counter()
    for process in report["ranks"] + report["processes"]:
        for call in process["calls"]:
            calls[call["name"], "count"] += call["count"]
            calls[call["name"], "bytes"] += call["bytes"]
    return calls


FACTS = """
import os, sys, mmap
def use(path, flags=0):
    fd = os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o600)
    os.pwrite(fd, b"x" * 100, 4096)
    os.pwrite(fd, b"x" * 3000, 100)
    return fd
fd = use("plain")
mmap.mmap(fd, 1000).close()
os.close(fd)
os.close(use(sys.argv[1] + "/elsewhere"))
try:
    os.close(os.open("direct", os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600))
except OSError:
    print("no O_DIRECT")
if os.fork() == 0:  # another process: the file is shared
    os.close(use("plain"))
    os._exit(0)
os.wait()
"""


def mount_of(path):
    """Type and point, from the path's mount id."""
    fd = os.open(path, os.O_RDONLY)
    facts = pathlib.Path(f"/proc/self/fdinfo/{fd}").read_text()
    os.close(fd)
    number = next(line.split()[1] for line in facts.splitlines() if line.startswith("mnt_id"))
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        if line.split()[0] == number:
            return line.split(" - ")[1].split()[0], line.split()[4]
    return "", ""


def check_file_facts(directory):
    """File systems (also behind a symbolic link), alignment, O_DIRECT, mappings, sizes, shared files."""
    run, work = directory / "run", directory / "work"
    for folder in (run, work):
        shutil.rmtree(folder, ignore_errors=True)
    work.mkdir()
    other = pathlib.Path(tempfile.mkdtemp(prefix="slurmscope-io.", dir="/dev/shm"))
    try:
        (work / "link").symlink_to(other)
        done = subprocess.run([SLURMSCOPE, "record", "--settings", "io_calls=0,io_bytes=0", "-o", run, "--", sys.executable,
                               "-c", FACTS, "link"], cwd=work, capture_output=True, text=True, timeout=300)
        check(f"facts: exit status ({done.stderr.strip()})", done.returncode, 0)
        report = json.loads(subprocess.run([SLURMSCOPE, "report", "--json", run], capture_output=True, text=True, timeout=300).stdout)
        verified = subprocess.run([SLURMSCOPE, "verify", *run.glob("*.sst")], capture_output=True, text=True, timeout=300)
        check(f"facts: verify ({verified.stdout.strip()})", verified.returncode, 0)
        files = collections.defaultdict(list)
        for entry in report["files"]:
            files[entry["path"].removeprefix(f"{work}/")].append(entry)
        plain, linked = files["plain"], files["link/elsewhere"]
        check("facts: both processes used it", len(plain), 2)
        for name, entries, place in (("plain", plain, work), ("linked", linked, other)):
            for entry in entries:
                check(f"facts: {name}: file system", (entry["filesystem"], entry["mount"]), mount_of(place))
                check(f"facts: {name}: unaligned", entry["unaligned"], 1)
                check(f"facts: {name}: sizes", entry["write_sizes"], [{"from": 64, "count": 1}, {"from": 2048, "count": 1}])
        check("facts: mapped", sorted((e["maps"], e["bytes_mapped"]) for e in plain), [(0, 0), (1, 1000)])
        if "no O_DIRECT" in done.stdout:
            print("no O_DIRECT here: left out")
        else:
            check("facts: direct", [e["direct_opens"] for e in files["direct"]], [1])
        shared = [e for e in report["shared_files"] if e["path"].endswith("/plain")]
        check("facts: shared", [(e["processes"], e["writes"], e["bytes_written"]) for e in shared], [(2, 4, 6200)])
        check("facts: not shared", [e for e in report["shared_files"] if e["path"].endswith("elsewhere")], [])
    finally:
        shutil.rmtree(other, ignore_errors=True)


def main():
    if not SLURMSCOPE.exists():
        print(f"no {SLURMSCOPE}")
        return 1
    directory = pathlib.Path(tempfile.mkdtemp(prefix="slurmscope-io."))
    try:
        compiler = os.environ.get("CC", "gcc").split()
        subprocess.run([*compiler, "-O2", "-D_FORTIFY_SOURCE=2", "-fno-builtin", "-pthread", "-o", directory / "known_io",
                        HERE / "known_io.c", HERE / "known_kinds.c", HERE / "known_sockets.c"], check=True)
        for mode in ("trace", "summary"):
            for part in ("posix", "wide", "duplicates", "streams", "excluded", "children", "text", "scanned", "paths",
                         "directories", "copies", "mapped", "requests", "streamed", "datagrams", "local"):
                report, work = record(directory, mode, [part])
                if report is None:
                    continue
                files, calls = expected(part)
                check(f"{mode} {part}: files", files_of(report, work), files)
                check(f"{mode} {part}: calls", dict(calls_of(report)), dict(calls))
                check(f"{mode} {part}: losses", report["losses"], [])
            report, work = record(directory, mode, ["threads"])
            if report is not None:
                wanted = sorted([(".", 0, 0, 0, 0, 0)] + [(f"work{i}", 1, 0, 1000, 0, 8000) for i in range(4)])
                check(f"{mode} threads: files", files_of(report, work), wanted)
        check_file_facts(directory)
        # (E15) More files than there are ids: the rest under one name (known_io checks what memory it costs).
        report, work = record(directory, "summary", ["many"])
        if report is not None:
            files = files_of(report, work)
            check("many: files", len(files), 65536)
            check("many: other files", [f[1] for f in files if f[0] == "(other files)"], [100000 - 65535])
            check("many: opens", sum(f[1] for f in files), 100000)
            check("many: losses", report["losses"], [])
            note = 'more than 65535 files: the others are counted together as "(other files)"'
            check("many: said in the report", [n["text"] for n in report["notes"]], [note])
            page = subprocess.run([SLURMSCOPE, "report", directory / "run"], capture_output=True, text=True, timeout=300)
            check("many: said on the page", note in page.stdout, True)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
