"""Runs commands and measures their cost; medians; tables."""
import os
import statistics
import subprocess
import time


class Cost:
    """The cost of one run: wall time, CPU time, peak resident bytes, and the output."""

    def __init__(self, seconds, cpu, resident, output):
        self.seconds, self.cpu, self.resident, self.output = seconds, cpu, resident, output


def run(command, cwd=None, env=None):
    """Runs a command that must succeed. A string is passed to the shell. Results that a store keeps are not used."""
    begin = time.monotonic()
    process = subprocess.Popen(command, shell=isinstance(command, str), cwd=cwd,
                               env={**(env or os.environ), "NCCLPROF_KEEP_NOTHING": "1"},
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode != 0:
        raise SystemExit(f"bench: exit status {process.returncode}: {command}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, output)


class Series:
    """The runs of one program, each with `amount` bytes (or other units)."""

    def __init__(self, name, amount):
        self.name, self.amount = name, amount
        self.seconds, self.cpu, self.resident = [], [], []

    def add(self, cost, seconds=None):
        self.seconds.append(cost.seconds if seconds is None else seconds)
        self.cpu.append(cost.cpu)
        self.resident.append(cost.resident)

    def median(self):
        return statistics.median(self.seconds)

    def rate(self):
        """Amount per second, in millions."""
        return self.amount / self.median() / 1e6

    def spread(self):
        """Half of the distance from the fastest to the slowest run, as a share of the median."""
        return (max(self.seconds) - min(self.seconds)) / 2 / self.median()

    def memory(self):
        return max(self.resident) / 1e6


def interleave(contenders, runs):
    """Runs (series, function) pairs in turn, A B A B, so that other load on the machine affects all of them."""
    for _ in range(runs):
        for series, once in contenders:
            once(series)


def show(title, header, rows):
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("| " + " | ".join("---" for _ in header) + " |")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 "unknown processor")
    load = os.getloadavg()[0]
    return f"{len(os.sched_getaffinity(0))} cores, {model}, {time.strftime('%Y-%m-%d')}, load average {load:.1f} at the start"
