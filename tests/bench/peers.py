"""Other tools for the same input. Each does less than ncclprof: nothing is paired or joined."""
import json
import os
import shutil
import subprocess
import sys

from measure import run

HERE = os.path.dirname(os.path.abspath(__file__))
CHROME_COLUMNS = ("{name: 'VARCHAR', cat: 'VARCHAR', ph: 'VARCHAR', id: 'BIGINT', pid: 'BIGINT', tid: 'INTEGER', "
                  "ts: 'DOUBLE', s: 'VARCHAR', args: 'JSON'}")

KINETO_COLUMNS = ("{traceEvents: 'STRUCT(ph VARCHAR, cat VARCHAR, name VARCHAR, id BIGINT, pid VARCHAR, tid VARCHAR, ts DOUBLE, "
                  "dur DOUBLE, args JSON)[]'}")


class DuckDB:
    """DuckDB from npm, kept in the folder of the benchmark."""

    def __init__(self, room):
        self.room = os.path.abspath(room)

    def install(self):
        """None if it can be used, else the reason."""
        if os.path.isdir(f"{self.room}/node_modules/@duckdb/node-api"):
            return None
        if not shutil.which("npm") or not shutil.which("node"):
            return "npm and node are not installed"
        os.makedirs(self.room, exist_ok=True)
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", self.room,
                               "@duckdb/node-api"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return None if done.returncode == 0 else "npm could not install @duckdb/node-api"

    def sql(self, database, *statements):
        """The cost of the process, and the seconds of each statement."""
        cost = run(["node", f"{HERE}/duckdb.mjs", self.room, database, *statements])
        return cost, json.loads(cost.output)

    def load(self, kind, folder, series):
        """Loads the traces into a table of a database file, comparable to a store. The columns are given, so DuckDB need not
        detect them.
        """
        database = f"{self.room}/load.duckdb"
        for name in (database, database + ".wal"):
            if os.path.exists(name):
                os.remove(name)
        if kind == "Chrome":
            source = f"read_json('{folder}/*', format = 'array', columns = {CHROME_COLUMNS})"
        elif kind == "Kineto":  # each file is one value
            source = (f"(SELECT unnest(traceEvents, max_depth := 2) FROM read_json('{folder}/*', columns = {KINETO_COLUMNS}, "
                      f"maximum_object_size = 1000000000))")
        else:
            source = f"read_json('{folder}/*', format = 'newline_delimited')"
        cost, seconds = self.sql(database, f"CREATE TABLE event AS FROM {source}", "CHECKPOINT")
        series.add(cost, sum(seconds))
        os.remove(database)


def python_json(kind, path):
    whole = kind in ("Chrome", "Kineto")
    parse = "json.load(open(sys.argv[1]))" if whole else "[json.loads(line) for line in open(sys.argv[1])]"
    return [sys.executable, "-c", f"import json, sys; {parse}", path]


def jq(kind, path):
    if kind == "Chrome":
        return ["jq", "-c", ".[] | [.name, .cat, .ph, .id, .ts, .args]", path]
    if kind == "Kineto":
        return ["jq", "-c", ".traceEvents[] | [.name, .cat, .ph, .ts, .dur, .args]", path]
    return ["jq", "-c", "[.header.id, .header.rank, .coll_perf]", path]


def sqlite_json(kind, path):
    if kind == "Chrome":
        select = (f"SELECT value->>'name', value->>'cat', value->>'ph', value->>'id', value->>'ts', value->'args' "
                  f"FROM json_each(CAST(readfile('{path}') AS TEXT))")
    elif kind == "Kineto":
        select = (f"SELECT value->>'name', value->>'cat', value->>'ph', value->>'ts', value->>'dur', value->'args' "
                  f"FROM json_each(CAST(readfile('{path}') AS TEXT), '$.traceEvents')")
    else:
        lines = f"'[' || replace(trim(CAST(readfile('{path}') AS TEXT), char(10)), char(10), ',') || ']'"
        select = f"SELECT value->'header'->>'id', value->'header'->>'rank', value->'coll_perf' FROM json_each({lines})"
    return ["sqlite3", ":memory:", f"CREATE TABLE event AS {select};"]


SLOW = {"python json": (python_json, sys.executable), "jq": (jq, "jq"), "sqlite3 json_each": (sqlite_json, "sqlite3")}
