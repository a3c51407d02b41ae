"""Processes and what they take: seconds, CPU, memory."""

import contextlib
import os
import subprocess
import threading
import time
from pathlib import Path

import servers

GIVE_UP_S = 3600


class BenchError(RuntimeError):
    pass


def clean_environment():
    """Without what would configure the worker or libpq from outside."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("METER_DLQ_", "PG"))}


def memory_of(pid):
    """(peak, now) of the resident memory in bytes; None when the process has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        if "VmHWM" in lines:
            return tuple(1024 * int(lines[name].split()[0]) for name in ("VmHWM", "VmRSS"))
    return None


def cpu_of(pid, reaped=False):
    """Its (user, system) seconds, with `reaped` those of the children that it has waited for too."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0, 0.0
    user, system, user_reaped, system_reaped = (int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15])
    return user + reaped * user_reaped, system + reaped * system_reaped


def cpu_of_server(server):
    """User and system seconds of a server and of all that it forked."""
    children = [sum(cpu_of(child.pid)) for child in server.process.children()]
    return sum(cpu_of(server.pid, reaped=True)) + sum(children)


@contextlib.contextmanager
def started(command, **options):
    """A process that is gone at the end, and before if it hangs."""
    process = servers.popen(list(map(str, command)), env=clean_environment(), **options)
    watchdog = threading.Timer(GIVE_UP_S, process.kill)
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()


def _sample_peak(pid, peak, ended):
    # The first samples may be of the Python that forks; the peak of one program only grows, so the last one counts.
    while not ended.wait(0.02):
        if memory := memory_of(pid):
            peak[:] = [memory[0]]


def measure(command, log, **options):
    """Runs a command to its end, its stderr in the file `log`; what it printed, and what it took."""
    peak, ended = [0], threading.Event()
    begin = time.monotonic()
    with open(log, "wb") as err, started(command, stdout=subprocess.PIPE, stderr=err, **options) as process:
        sampler = threading.Thread(target=_sample_peak, args=(process.pid, peak, ended))
        sampler.start()
        output = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        ended.set()
        sampler.join()
    if process.returncode:
        raise BenchError(f"{' '.join(map(str, command))}: exit {process.returncode}\n{log.read_text()[-4000:]}")
    return output, {"seconds": seconds, "user": usage.ru_utime, "sys": usage.ru_stime, "peak_bytes": peak[0]}


def figures(count, took):
    """What was measured of a run over `count` reads or entries, and the rates that follow."""
    cpu = took["user"] + took["sys"]
    return {"count": count, "rate": count / took["seconds"], "cpu": cpu, "cpu_per_million": cpu / count * 1e6} | took
