"""A Slurm cluster of its own daemons: slurmctld, one slurmd for each of four nodes, munged, all on the loopback address."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from tests.cli.support import PATIENCE_S

NODES = 4

CONFIGURATION = """\
ClusterName=loop
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/%n
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=4
BatchStartTimeout=600
UnkillableStepTimeout=600
MinJobAge=3600
KillWait=1
InactiveLimit=0
NodeName=node[0-{last}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first}-{end}] CPUs=1 State=UNKNOWN
PartitionName=all Nodes=node[0-{last}] Default=YES MaxTime=60 State=UP
"""


def free_ports(count):
    """The first of `count` consecutive ports that are free."""
    for first in range(20000 + os.getpid() % 10000, 64000, count):
        sockets = []
        try:
            for port in range(first, first + count):
                sockets.append(socket.socket())
                sockets[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
    raise RuntimeError("no free ports")


class Cluster:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="ncclprof-slurm-"))
        self.folder.chmod(0o755)
        port = free_ports(NODES + 1)
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(64))
        key.chmod(0o400)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=self.folder, port=port, first=port + 1, end=port + NODES, last=NODES - 1))
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self):
        try:
            place = self.folder
            self.run("munged", f"--socket={place}/munge.socket", f"--key-file={place}/munge.key", f"--pid-file={place}/munged.pid",
                     f"--log-file={place}/munged.log", f"--seed-file={place}/munged.seed", "--force", "--num-threads=1")
            self.run("slurmctld")
            for number in range(NODES):
                self.start_node(number)
            self.wait_for(lambda: self.states().count("idle") == NODES)
        except BaseException:
            self.__exit__()
            raise
        return self

    def run(self, *words, **more):
        return subprocess.run(words, env=self.environment, check=True, capture_output=True, text=True, timeout=PATIENCE_S, **more)

    def start_node(self, number):
        self.run("slurmd", "-N", f"node{number}")

    def states(self):
        return [line.strip("*~#!%$@^-") for line in self.run("sinfo", "-N", "-h", "-o", "%t").stdout.split()]

    def wait_for(self, condition, seconds=PATIENCE_S):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                logs = "\n".join(f"{path.name}:\n{path.read_text(errors='replace')[-1500:]}" for path in self.folder.glob("*.log"))
                raise AssertionError(f"it did not come about in {seconds} s\n{logs}")
            time.sleep(0.1)

    def processes_of(self, number):
        """The daemon of a node, its steps, and their child processes."""
        children = {}
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                text = status.read_text()
                environment = (status.parent / "environ").read_bytes()
                command = (status.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            fields = text.rpartition(")")[2].split()
            children[int(status.parent.name)] = (int(fields[1]), environment, command)
        mine = str(self.folder).encode()
        daemon = self.pid(f"node{number}")
        found = {daemon} if daemon else set()
        # The manager of a step has only its node's address; its child processes have the node's name.
        tasks = {pid for pid, (_, environment, _) in children.items()
                 if mine in environment and b"SLURMD_NODENAME=node%d\0" % number in environment}
        for pid in tasks:
            found.add(pid)
            parent = children[pid][0]
            if parent in children and children[parent][2].startswith("slurmstepd"):
                found.add(parent)
        return found

    def pid(self, name):
        try:
            return int((self.folder / f"{name}.pid").read_text())
        except (OSError, ValueError):
            return 0

    def runs(self, name):
        try:
            return Path(f"/proc/{self.pid(name)}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    def kill_node(self, number):
        """Kills the node's processes, as a power failure does."""
        for pid in self.processes_of(number):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def __exit__(self, *_):
        subprocess.run(["scancel", "--full", "-u", "root"], env=self.environment, capture_output=True)
        for number in range(NODES):
            self.kill_node(number)
        for name in ("slurmctld", "munged"):
            pid = self.pid(name)
            if pid:
                try:
                    os.kill(pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass
        deadline = time.monotonic() + 10
        while any(map(self.runs, ("slurmctld", "munged"))) and time.monotonic() < deadline:
            time.sleep(0.05)
        shutil.rmtree(self.folder, ignore_errors=True)
