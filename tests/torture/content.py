"""The content of a store, independent of how its rows are numbered: a digest for each table.

Ids depend on the order in which files were added. Here each id is replaced by what it identifies: a file by its digest, a
process by its directory, host and pid, a record by its file and its position there, and so on. Every table of the schema is
included, also tables that later versions add.
"""

import hashlib
import json
import os
import re
import sqlite3
import subprocess

PROGRAM = os.path.abspath(os.environ.get("NCCLPROF", "build/ncclprof"))

# Packed rows are read through the program, because only it can unpack them.
UNPACKED = {"operation_block": "operation", "operation_join_block": "operation_join", "instance_block": "instance"}

RECORDS = {"operation_id", "block_id"}  # and the id of each table for which there is no key below: file and position


def rows_of(store, table):
    cursor = store.execute(f'SELECT * FROM "{table}"')
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor]


def unpacked_rows_of(path, table):
    answer = subprocess.run([PROGRAM, "--store", path, "query", "--format", "json", f"SELECT * FROM {table}"],
                            capture_output=True, check=True)
    return json.loads(answer.stdout)["rows"]


class Names:
    """What each id identifies."""

    def __init__(self, tables):
        self.of = {None: None}
        self.records = RECORDS
        self.files = {row["file_id"]: row["digest"] for row in tables["file"]}
        self.keys = {"file_id": self.files, "unhashed_file_id": {0: 0, **self.files}}
        # Rows that a join removed may be named by rows that it kept.
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
    """{table: digest} of the store, after SQLite's integrity check."""
    with sqlite3.connect(path) as store:
        trouble = store.execute("PRAGMA integrity_check").fetchall()
        if trouble != [("ok",)]:
            raise AssertionError(f"integrity_check: {trouble[:3]}")
        names = [name for name, in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        tables = {name: rows_of(store, name) for name in names if name not in UNPACKED}
    store.close()
    tables.update({name: unpacked_rows_of(path, name) for name in UNPACKED.values()})
    # The number of earlier runs, the shards from which it was merged, and the questions that were asked describe the history
    # of a store, not its content.
    tables["fact"] = [row for row in tables["fact"] if row["name"] not in ("last_run", "shard", "shards_expected", "kept_state")]
    del tables["shard"]
    tables.pop("kept_result", None)
    # If several runs have the same folder, the second one added has "-2" after its name.
    tables["run"] = [{**row, "name": row["name"] and re.sub(r"-\d+$", "", row["name"])} for row in tables["run"]]
    # The modification time of a file belongs to the file system, not to the content.
    tables["file"] = [{name: value for name, value in row.items() if name != "modified_ns"} for row in tables["file"]]
    known = Names(tables)
    # Two runs that may be one job, each identified by one of its processes, in any order.
    run_of = {row["process_id"]: known.keys["run_id"][row["run_id"]] for row in tables["process_run"]}
    tables["witness_doubt"] = [{"runs": sorted(repr(run_of[row[name]]) for name in ("process_id", "other_process_id")),
                                "why": row["why"]} for row in tables["witness_doubt"]]
    found = {}
    for name in sorted(tables):
        lines = sorted(repr([known.name(column, value) for column, value in row.items()]) for row in tables[name])
        found[name] = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
    return found


def check_whole(path):
    """Raises an exception if SQLite finds the file damaged. An empty file is not a store yet, and counts as intact."""
    with sqlite3.connect(path) as store:
        trouble = store.execute("PRAGMA integrity_check").fetchall()
    store.close()
    if trouble != [("ok",)]:
        raise AssertionError(f"integrity_check: {trouble[:3]}")
