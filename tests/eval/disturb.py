"""Competes with one rank of a training job, or stops it, in the steps of its fault: disturb.py FOLDER RANK PID, started by
record_jobs.py."""

import json
import mmap
import os
import signal
import sys
import time
from pathlib import Path

PAUSE_S = 2


class Rank:
    """The steps of the rank, as training_job.py writes them."""

    def __init__(self, folder, rank):
        self.fault = json.loads((folder / "label.json").read_text())["fault"]
        with open(folder / f"step.{rank}", "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 8)

    def is_disturbed(self):
        step = int.from_bytes(self.map[:8], "little")
        return self.fault["first_step"] <= step <= self.fault["last_step"]


def use_core(rank):
    value = 1.0
    while True:
        if not rank.is_disturbed():
            time.sleep(0.0005)
            continue
        for _ in range(2000):
            value = value * 1.0000001 + 1e-9


def use_gpu(rank, number):
    import torch
    torch.cuda.set_device(number % torch.cuda.device_count())
    matrix = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    while True:
        if rank.is_disturbed():
            torch.mm(matrix, matrix)
            torch.cuda.synchronize()
        else:
            time.sleep(0.0005)


def pause(rank, process):
    """Stops the rank once, as a debugger or a freezer of control groups does."""
    while not rank.is_disturbed():
        time.sleep(0.0005)
    os.kill(process, signal.SIGSTOP)
    time.sleep(PAUSE_S)
    os.kill(process, signal.SIGCONT)


def write_to_disk(rank, folder):
    block = os.urandom(8 << 20)
    while True:
        if not rank.is_disturbed():
            time.sleep(0.0005)
            continue
        with open(folder / "storm", "wb") as file:
            for _ in range(32):
                file.write(block)
                os.fsync(file.fileno())


def main():
    folder, number, process = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rank = Rank(folder, number)
    if rank.fault["kind"] == "compute":
        use_gpu(rank, number)
    if rank.fault["cause"] == "paused":
        return pause(rank, process)
    if rank.fault["cause"] == "storm":
        write_to_disk(rank, folder)
    use_core(rank)


if __name__ == "__main__":
    main()
