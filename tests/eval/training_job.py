"""One rank of a training job on a GPU, with PyTorch and NCCL, recorded by several recorders: training_job.py FOLDER RANK.

The folder contains label.json, written by record_jobs.py. The environment has the settings for contacting the other ranks.

What the job trains does not matter. It multiplies matrices on the GPU, communicates as jobs of its shape do, and waits for the
GPU once per step.
"""

import contextlib
import ctypes
import datetime
import gc
import json
import mmap
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.profiler import ProfilerActivity, profile, schedule

WARM_UP_STEPS = 3
TIMEOUT_S = 10
CHECKPOINT_BYTES = 48 << 20
SPIN_CYCLES_A_US = 1755  # of torch.cuda._sleep, approximately


class Fault:
    """Applies the fault to one rank at the start of a phase; does nothing for kind `none`."""

    def __init__(self, job, folder, rank):
        self.fault = job["fault"]
        self.is_here = self.fault["kind"] != "none" and self.fault["rank"] == rank
        self.cause = self.fault.get("cause")
        self.folder = folder
        self.random = random.Random(rank)
        if self.cause == "garbage" and self.is_here:
            gc.disable()

    def is_on(self, step):
        first, last, period = self.fault["first_step"], self.fault["last_step"], self.fault.get("period", 1)
        return first <= step <= last and (step - first) % period == 0

    def load(self, step):
        """The host's work for the batch of a step. Loading takes longer for some samples than for others."""
        size = 200
        if self.is_here and self.cause == "loader" and self.is_on(step):
            size = int(min(200000, 6000 * self.random.lognormvariate(0, 1)))
        samples = [str(value) for value in range(size)]
        samples.sort()
        return samples

    def collect(self, step):
        """Python's garbage, collected by the step rather than at any time."""
        if self.is_here and self.cause == "garbage" and self.is_on(step):
            for _ in range(150000):
                knot = []
                knot.append(knot)
            gc.collect()

    def save(self, step):
        """A checkpoint: copied from the GPU, and written to disk."""
        if self.is_here and self.cause in ("checkpoint", "storm") and self.is_on(step):
            with open(f"{self.folder}/checkpoint", "wb") as file:
                torch.save(torch.zeros(CHECKPOINT_BYTES, dtype=torch.uint8, device="cuda").cpu(), file)
                os.fsync(file.fileno())

    def ramp(self, step):
        """Work of the GPU that grows with each step."""
        if self.is_here and self.cause == "ramp" and self.is_on(step):
            torch.cuda._sleep((step - self.fault["first_step"] + 1) * self.fault["amount_us"] * SPIN_CYCLES_A_US)

    def begin_step(self, step):
        """Delays the sends during whole steps (slow_sends.c); or does the work of a natural cause."""
        self.load(step)
        self.collect(step)
        self.save(step)
        self.ramp(step)
        if self.is_here and self.fault["kind"] == "network":
            is_on = self.fault["first_step"] <= step <= self.fault["last_step"]
            ctypes.CDLL(None).slow_sends(self.fault["amount_us"] if is_on else 0)

    def begin_phase(self, step, phase):
        if self.cause or not self.is_here or phase != self.fault.get("phase") or not self.fault["first_step"] <= step <= self.fault["last_step"]:
            return
        kind, amount_us = self.fault["kind"], self.fault["amount_us"]
        if kind == "compute":
            torch.cuda._sleep(amount_us * SPIN_CYCLES_A_US)
        elif kind == "host":
            torch.cuda.synchronize()
            time.sleep(amount_us / 1e6)
        elif kind == "hang":
            time.sleep(3600)
        elif kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)


class StepFile:
    """The number of the step, for the processes that compete with this rank (disturb.py)."""

    def __init__(self, folder, rank):
        path = Path(folder) / f"step.{rank}"
        self.map = None
        if path.exists():
            with open(path, "r+b") as file:
                self.map = mmap.mmap(file.fileno(), 8)

    def write(self, step):
        if self.map:
            self.map[:8] = step.to_bytes(8, "little")


class Shape:
    """The phases of a step are methods, in the order of `phases`. Sizes and matrices are shared."""

    phases = ("forward", "backward", "grad_sync", "optimizer")

    def __init__(self, job):
        self.world = dist.get_world_size()
        self.layers = job["layers"]
        small = job["transport"] != "nvlink"
        self.width, self.rows = (1024, 65536) if small else (4096, 8192)
        self.activations = self.tensor((4 if small else 32) << 20)
        self.gradients = self.tensor((16 if small else 128) << 20)
        self.norm = torch.ones(16, device="cuda")
        self.x = torch.randn(self.rows, self.width, device="cuda", dtype=torch.bfloat16)
        self.weight = torch.randn(self.width, self.width, device="cuda", dtype=torch.bfloat16)

    @staticmethod
    def tensor(count_bytes):
        return torch.zeros(count_bytes // 2, device="cuda", dtype=torch.bfloat16)

    def multiply(self, times):
        for _ in range(times):
            torch.mm(self.x, self.weight)

    def optimizer(self):
        self.multiply(1)
        dist.all_reduce(self.norm)
        self.norm.div_(self.world)


class Data(Shape):
    """DistributedDataParallel: buckets of gradients are reduced during backward."""

    phases = ("forward", "backward", "optimizer")

    def __init__(self, job):
        super().__init__(job)
        layers = [torch.nn.Linear(self.width, self.width, bias=False) for _ in range(2 * self.layers)]
        self.model = self.wrap(torch.nn.Sequential(*layers).cuda().to(torch.bfloat16))
        self.stepper = torch.optim.SGD(self.model.parameters(), lr=1e-6)

    def wrap(self, model):
        return torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=8)

    def forward(self):
        self.loss = self.model(self.x).float().mean()

    def backward(self):
        self.loss.backward()

    def optimizer(self):
        self.stepper.step()
        self.stepper.zero_grad()
        super().optimizer()


class Sharded(Data):
    """FSDP: parameters are gathered before a layer computes, and gradients are scattered after it."""

    def wrap(self, model):
        from torch.distributed.fsdp import fully_shard
        for layer in model:
            fully_shard(layer)
        return fully_shard(model)


class Tensor(Shape):
    """Pairs of ranks share each layer, and all pairs share the batch."""

    def __init__(self, job):
        super().__init__(job)
        mesh = init_device_mesh("cuda", (self.world // 2, 2), mesh_dim_names=("data", "tensor"))
        self.data, self.pair = mesh.get_group("data"), mesh.get_group("tensor")

    def forward(self):
        for _ in range(self.layers):
            self.multiply(2)
            dist.all_reduce(self.activations, group=self.pair)

    def backward(self):
        for _ in range(self.layers):
            self.multiply(4)
            dist.all_reduce(self.activations, group=self.pair)

    def grad_sync(self):
        dist.all_reduce(self.gradients, group=self.data)


class Pipeline(Shape):
    """Stages pass micro-batches on: all forward, then all backward. With two or more pipelines, gradients are summed."""

    MICRO_BATCHES = 4

    def __init__(self, job):
        super().__init__(job)
        mesh = init_device_mesh("cuda", (self.world // job["stages"], job["stages"]), mesh_dim_names=("data", "stage"))
        self.data, self.stages = mesh.get_group("data"), mesh.get_group("stage")
        ranks = dist.get_process_group_ranks(self.stages)
        stage = ranks.index(dist.get_rank())
        self.before = ranks[stage - 1] if stage else None
        self.after = ranks[stage + 1] if stage + 1 < len(ranks) else None
        self.sums = len(ranks) < self.world

    def pass_on(self, source, target, times):
        for _ in range(self.MICRO_BATCHES):
            if source is not None:
                dist.recv(self.activations, source, group=self.stages)
            self.multiply(times)
            if target is not None:
                dist.send(self.activations, target, group=self.stages)

    def forward(self):
        self.pass_on(self.before, self.after, self.layers)

    def backward(self):
        self.pass_on(self.after, self.before, 2 * self.layers)

    def grad_sync(self):
        self.multiply(1)
        if self.sums:
            dist.all_reduce(self.gradients, group=self.data)


class Experts(Shape):
    """Tokens are sent to the ranks of their experts and back, in each layer."""

    def __init__(self, job):
        super().__init__(job)
        self.tokens = torch.empty_like(self.activations)

    def layer(self, times):
        dist.all_to_all_single(self.tokens, self.activations)
        self.multiply(times)
        dist.all_to_all_single(self.activations, self.tokens)

    def forward(self):
        for _ in range(self.layers):
            self.layer(2)

    def backward(self):
        for _ in range(self.layers):
            self.layer(4)

    def grad_sync(self):
        dist.all_reduce(self.gradients)


SHAPES = {"data": Data, "sharded": Sharded, "tensor": Tensor, "pipeline": Pipeline, "experts": Experts}


def profiler(job, folder, rank):
    if "kineto" not in job.get("recorders", ["kineto"]):
        return contextlib.nullcontext()

    def save(profiled):
        profiled.export_chrome_trace(f"{folder}/kineto-rank{rank}.json.gz")

    return profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], on_trace_ready=save,
                   schedule=schedule(wait=0, warmup=WARM_UP_STEPS, active=job["steps"] - WARM_UP_STEPS, repeat=1))


@contextlib.contextmanager
def named(phase):
    torch.cuda.nvtx.range_push(phase)
    yield
    torch.cuda.nvtx.range_pop()


def train(job, folder, rank):
    fault = Fault(job, folder, rank)
    shape = SHAPES[job["shape"]](job)
    current = StepFile(folder, rank)
    with profiler(job, folder, rank) as profiled, open(f"{folder}/truth.jsonl.{rank}", "w", buffering=1) as truth:
        for step in range(job["steps"]):
            print(json.dumps({"step": step, "begin_ns": time.monotonic_ns()}), file=truth)
            current.write(step)
            fault.begin_step(step)
            for phase in shape.phases:
                with named(phase):
                    fault.begin_phase(step, phase)
                    getattr(shape, phase)()
            torch.cuda.synchronize()
            if profiled:
                profiled.step()
        print(json.dumps({"step": job["steps"], "begin_ns": time.monotonic_ns()}), file=truth)


def main():
    folder, rank = sys.argv[1], int(sys.argv[2])
    with open(f"{folder}/label.json", encoding="utf-8") as file:
        job = json.load(file)
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("nccl", rank=rank, world_size=job["ranks"], timeout=datetime.timedelta(seconds=TIMEOUT_S))
    train(job, folder, rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
