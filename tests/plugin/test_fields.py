#!/usr/bin/env python3
"""Each field that NCCL passes is written in the right place, for each version. usage: test_fields.py FAKECORE PLUGIN

The values are those of probe_fields.c, each different. NCCL's headers show which version has which field. Version "7 tags" is
that of NVIDIA/nccl pull request 2045, 7 that of NCCL 2.31.
"""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import LIBRARY_TAGS  # noqa: E402
from test_probe import ProbeTest  # noqa: E402
from trace import Trace  # noqa: E402

HASH = 0xabcdef0123

# NCCL 2.23's numbers, in order, and the sizes of nccl.h.
FUNCTIONS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv", "Send", "Recv")
TYPES = (("ncclInt8", 1), ("ncclUint8", 1), ("ncclInt32", 4), ("ncclUint32", 4), ("ncclInt64", 8), ("ncclUint64", 8),
         ("ncclFloat16", 2), ("ncclFloat32", 4), ("ncclFloat64", 8), ("ncclBfloat16", 2))


class Version(int):
    """The versions of NCCL's interface; 7 occurs twice."""

    tags = False

    @property
    def released_7(self):
        return self == 7 and not self.tags

    def user_tag(self, number):
        """The tag of a single operation, as arguments."""
        return {"UserTag": number} if self.released_7 else {}


class VersionWithTags(Version):
    tags = True


VERSIONS = (*map(Version, range(1, 8)), VersionWithTags(7))

TIME = "a time"
TIMES = {"EnqueueEnd", "StartHost", "StopHost", "start_ts_cpu", "stop_ts_cpu", "duration_cpu_us", "ts"}


def without_times(args):
    """As pairs, in their order."""
    return [(key, TIME if key in TIMES else without_times(value) if isinstance(value, dict) else value)
            for key, value in args.items()]


def kernel(version, channel, clock):
    clocks = (clock, clock + 1000) if version >= 4 else (0, 0)
    yield "GPU", "KernelCh", {"Channel": channel, "StartGpuClk": clocks[0], "StopGpuClk": clocks[1],
                              "StartHost": TIME, "StopHost": TIME}
    if version.released_7:
        yield "GPU", "final_sync", {"Channel": channel, "PhaseId": 2, "StartGpuClk": clock + 400,
                                    "StopGpuClk": clock + 900}


def net(version):
    names = ("SendGpuWait", "SendPeerWait", "SendWait") if version >= 4 else ("SendBufferWait", "SendGpuWait", "SendWait")
    yield from (("NET", name, {"Step": 51}) for name in names)
    if version >= 3:
        yield "NET_IB", "Qp", {"device": 41, "qp_num": 44, "opcode": 43, "wr_id": 42, "size": 45}
        yield "NET_SOCK", "Sock", {"sock": 46, "op": 47, "size": 48}


def proxy(version, **origin):
    args = {"Channel": 62, "Peer": 63, "Steps": 64, "ChunkSize": 6500, "transSize": 5200 if version >= 4 else 400}
    if version < 4:
        for i, state in enumerate(("POSTED", "REM_FIFO_WAIT", "TRANSMITTED", "DONE")):
            args[state] = {"step": 71 + i, "ts": TIME}
    for name in ("ScheduleSend", "ProgressSend") if version >= 4 else ("Send",):
        yield "PROXY", name, args | origin
    yield from net(version)


def collective(version):
    variant = {"KernelVariant": "ReduceScatter_variant", "IsSymColl": 1} if version.released_7 else {}
    yield "COLL", "ReduceScatter", {
        "SeqNum": 12, "CommHash": HASH, "Rank": 11, "Count": 15, "Datatype": "ncclInt64", "Algorithm": "RING",
        "Protocol": "SIMPLE", "nChannels": 2, **variant, "Root": 16, "nWarps": 17, "SendBuff": "0x13",
        "RecvBuff": "0x14", "EnqueueEnd": TIME, **version.user_tag(2**64 - 1)}
    if version >= 3:
        yield from kernel(version, 18, 100000)
        yield from kernel(version, 62, 200000)
    yield from proxy(version)


def receive(version):
    yield "P2P", "Recv", {"CommHash": HASH, "Rank": 21, "Peer": 24, "Count": 23, "Datatype": "ncclBfloat16",
                          "nChannels": 1 if version >= 4 else 0, "Buff": "0x22", "EnqueueEnd": TIME,
                          **version.user_tag(1021)}
    if version >= 3:
        yield from kernel(version, 25, 300000)


def group(version):
    if version < 5:
        yield "GROUP", "Group", {"groupId": 0}
        yield from collective(version)
        yield from receive(version)
        return
    yield "GROUP_API", "Group API", {"groupApiId": 0, "groupDepth": 86}
    yield "KERNEL_LAUNCH", "KernelLaunch", {"groupId": 0, "Stream": "0x87"}
    yield "COLL_API", "ReduceScatter", {"count": 81, "datatype": "ncclUint64", "root": 82, "GraphCaptured": 0,
                                        "Stream": "0x83", **version.user_tag(1083)}
    yield from collective(version)
    # A launch after a call that a graph captured is a replay.
    yield "P2P_API", "Recv", {"count": 84, "datatype": "ncclFloat16", "GraphCaptured": 1, "Stream": "0x85",
                              **version.user_tag(1085)}
    yield from receive(version)


def copy_engine(version):
    host = {"start_ts_cpu": TIME, "stop_ts_cpu": TIME, "duration_cpu_us": TIME}
    yield "CE_COLL", "AllGather", {"eventId": 0, "count": 33, "datatype": "ncclFloat8e4m3", "strategy": "MC", **host,
                                   "SeqNum": 32, "CommHash": HASH, "Rank": 31, "timing": "enqueue",
                                   **version.user_tag(1031)}
    yield "CE_SYNC", "CeSync", {"eventId": 0, "type": "Complete", "strategy": "MC", "nRanks": 36, **host,
                                "timing": "enqueue"}
    yield "CE_BATCH", "CeBatch", {"eventId": 0, "numOps": 37, "totalBytes": 38, **host, "timing": "enqueue"}


def expected(version, process):
    if version.tags:
        yield "USER_TAG", "UserTag", {"tag": "tagged", "rank": 95, "source": "nccl", "depth": 0, "CommHash": HASH}
    yield "PROXY", "Append", {"appended": 91}
    yield from group(version)
    if version >= 6:
        yield from copy_engine(version)
    yield from proxy(version, OriginPid=process + 1, OriginRank=61)


class Fields(ProbeTest):
    def check_lines(self, trace, version):
        """All lines of NCCL's events, except operations that differ only in their names."""
        lines, skip = [], False
        for e in trace.events:
            if e["ph"] not in "biX" or e["cat"] == "NCCLPROF":
                continue
            skip = e["cat"] == "COLL" and e["args"]["SeqNum"] >= 100 or skip and e["cat"] == "GPU"
            if not skip:
                lines.append((e["cat"], e["name"], without_times(e["args"])))
        process = trace.events[0]["pid"]
        wanted = [(category, name, without_times(args)) for category, name, args in expected(version, process)]
        self.assertEqual(sorted(lines, key=str), sorted(wanted, key=str))

    def check_names(self, trace):
        begins = [e for e in trace.events if e["cat"] == "COLL" and e["ph"] == "b" and e["args"]["SeqNum"] >= 100]
        self.assertEqual([(e["name"], e["args"]["Datatype"], e["args"]["Count"]) for e in begins],
                         [(FUNCTIONS[i % 8], name, 1000 + i) for i, (name, _) in enumerate(TYPES)])

    def check_communicator(self, trace, version):
        known = {"Rank": 9, "nRanks": 12, "nNodes": 3} if version >= 4 else {"Rank": 11, "nRanks": -1, "nNodes": -1}
        notes = [e["args"] for e in trace.notes("Communicator")]
        self.assertEqual(notes, [{"CommHash": HASH, **known, "CommName": "everything", "api": version}])

    def check_inspector(self, path, version):
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        collectives = [line["coll_perf"] for line in lines if "coll_perf" in line]
        wanted = {12: ("ReduceScatter", 15 * 8)}
        wanted.update({100 + i: (FUNCTIONS[i % 8], (1000 + i) * size) for i, (_, size) in enumerate(TYPES)})
        self.assertEqual({c["coll_sn"]: (c["coll"], c["coll_msg_size_bytes"]) for c in collectives}, wanted)
        receives, = (line for line in lines if "p2p_perf" in line)
        self.assertEqual([receives["p2p_perf"][k] for k in ("p2p", "p2p_sn", "p2p_peer", "p2p_msg_size_bytes")],
                         ["Recv", 1, 24, 23 * 2])
        ranks = (12, 3) if version >= 4 else (-1, -1)
        self.assertEqual(receives["header"], {"id": hex(HASH), "comm_name": "everything", "rank": 21,
                                              "n_ranks": ranks[0], "nnodes": ranks[1]})
        for c in collectives:
            takes_ranks = c["coll"] in ("AllGather", "ReduceScatter", "AlltoAll", "Gather", "Scatter")
            bandwidths = c["coll_algobw_gbs"], c["coll_busbw_gbs"]
            if version < 4 and takes_ranks:
                self.assertEqual(bandwidths, (0, 0), c["coll"])
            elif c["coll"] == "AllReduce":
                # Twelve ranks, or an unknown number.
                self.assertAlmostEqual(bandwidths[1], bandwidths[0] * 22 / 12 if version >= 4 else 0, delta=1e-5)
        own = str(2**64 - 1) if version.released_7 else None
        for c in collectives:
            of_nccl = "tagged" if version.tags else None
            self.assertEqual(c.get("user_tag"), own if own and c["coll_sn"] == 12 else of_nccl)

    def test_every_version(self):
        for version in VERSIONS:
            with self.subTest(version=version, tags=version.tags):
                name = f"v{version}{version.tags}"
                self.probe("every-field", version, *([LIBRARY_TAGS] if version.tags else []),
                           NCCLPROF_EVENT_MASK="65535", NCCLPROF_FORMAT="both", NCCLPROF_FILE=name)
                trace = Trace(os.path.join(self.directory, f"{name}.json"))
                trace.check_nesting()
                self.assertEqual(set(trace.notes("Drops")[-1]["args"].values()), {0})
                self.check_communicator(trace, version)
                self.check_lines(trace, version)
                self.check_names(trace)
                self.check_inspector(trace.path + "l", version)


del ProbeTest

if __name__ == "__main__":
    unittest.main()
