"""What a store holds, however its rows happen to be numbered: a digest for each table.

Ids depend on the order in which files went in. Here each is replaced by what it stands for: a file by its digest, a
process by its directory, host and pid, a record by its file and its ordinal there, and so on. Every table of the schema
takes part, those to come as well.
"""

import hashlib
import json
import os
import re
import sqlite3
import subprocess

PROGRAM = os.path.abspath(os.environ.get("NCCLPROF", "build/ncclprof"))

# What is packed is read through the program, which alone can unpack it.
UNPACKED = {"operation_block": "operation", "operation_join_block": "operation_join", "instance_block": "instance"}

RECORDS = {"operation_id", "block_id"}  # and the own id of each table that no key below stands for: file and ordinal


def rows_of(store, table):
    cursor = store.execute(f'SELECT * FROM "{table}"')
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor]


def unpacked_rows_of(path, table):
    answer = subprocess.run([PROGRAM, "--store", path, "query", "--format", "json", f"SELECT * FROM {table}"],
                            capture_output=True, check=True)
    return json.loads(answer.stdout)["rows"]


class Names:
    """What each id stands for."""

    def __init__(self, tables):
        self.of = {None: None}
        self.records = RECORDS
        self.files = {row["file_id"]: row["digest"] for row in tables["file"]}
        self.keys = {"file_id": self.files, "unhashed_file_id": {0: 0, **self.files}}
        # Rows that a join removed may be named by others that it kept.
        self.learn(tables, "process", "process_id", ("file_set", "host", "pid"))
        self.learn(tables, "process_recorded", "process_id", ("file_set", "host", "pid"))
        self.learn(tables, "communicator", "communicator_id", ("hash", "unhashed_file_id"))
        self.learn(tables, "member_recorded", "member_id", ("communicator_id", "rank", "process_id"))
        self.learn(tables, "member", "member_id", ("communicator_id", "rank", "process_id"))
        self.keys["last_member_id"] = self.keys["member_id"]
        runs = {}
        for row in tables["process_run"]:
            runs.setdefault(row["run_id"], []).append(repr(self.keys["process_id"][row["process_id"]]))
        self.keys["run_id"] = {run: sorted(processes) for run, processes in runs.items()}
        self.learn(tables, "job_rank", "job_rank_id", ("run_id", "process_id", "name"))
        self.learn(tables, "instance", "instance_id",
                   ("communicator_id", "kind", "function", "sequence", "sender", "receiver"))
        self.records = RECORDS | {f"{table}_id" for table in tables} - set(self.keys)

    def learn(self, tables, table, identifier, columns):
        self.keys.setdefault(identifier, {}).update(
            {row[identifier]: tuple(self.name(column, row[column]) for column in columns) for row in tables[table]})

    def name(self, column, value):
        if value is None:
            return None
        if column in self.records:
            return self.files[value >> 32], value & 0xFFFFFFFF
        return self.keys[column][value] if column in self.keys else value


def digests(path):
    """{table: digest} of the store, after SQLite has found it whole."""
    with sqlite3.connect(path) as store:
        trouble = store.execute("PRAGMA integrity_check").fetchall()
        if trouble != [("ok",)]:
            raise AssertionError(f"integrity_check: {trouble[:3]}")
        names = [name for name, in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        tables = {name: rows_of(store, name) for name in names if name not in UNPACKED}
    store.close()
    tables.update({name: unpacked_rows_of(path, name) for name in UNPACKED.values()})
    # How many runs there have been, and of which shards it was merged, tells of the past, not of what the store holds.
    tables["fact"] = [row for row in tables["fact"] if row["name"] not in ("last_run", "shard", "shards_expected")]
    del tables["shard"]
    # Of several runs of one folder, the second to come in has "-2" behind its name.
    tables["run"] = [{**row, "name": row["name"] and re.sub(r"-\d+$", "", row["name"])} for row in tables["run"]]
    # When a file was last written is the file system's, not what the file holds.
    tables["file"] = [{name: value for name, value in row.items() if name != "modified_ns"} for row in tables["file"]]
    known = Names(tables)
    # Two runs that may be one job, each by one of its processes, whichever came first.
    run_of = {row["process_id"]: known.keys["run_id"][row["run_id"]] for row in tables["process_run"]}
    tables["witness_doubt"] = [{"runs": sorted(repr(run_of[row[name]]) for name in ("process_id", "other_process_id")),
                                "why": row["why"]} for row in tables["witness_doubt"]]
    found = {}
    for name in sorted(tables):
        lines = sorted(repr([known.name(column, value) for column, value in row.items()]) for row in tables[name])
        found[name] = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
    return found


def check_whole(path):
    """Raises when SQLite finds the file damaged. An empty file is no store yet, and whole."""
    with sqlite3.connect(path) as store:
        trouble = store.execute("PRAGMA integrity_check").fetchall()
    store.close()
    if trouble != [("ok",)]:
        raise AssertionError(f"integrity_check: {trouble[:3]}")
