"""report, stragglers, stalls and diagnose on many records; DuckDB on the same records for what is SQL."""
import os

from data import bytes_in, parse_size
from measure import Series, interleave, run, show

OPERATIONS = parse_size(os.environ.get("BENCH_OPERATIONS", "1M"))
LINE_BYTES = 469  # of one operation in the Inspector's lines of the simulator

# What report --by-tag prints, from records that are joined already: transfer time is the shortest over the ranks of
# an instance, effective time the longest.
REPORT = """
SELECT tag, function, count(*) AS instances, sum(members), sum(size_bytes),
       quantile_disc(transfer_ns, 0.5), quantile_disc(effective_ns, 0.5), quantile_disc(effective_ns, 0.99),
       quantile_disc(size_bytes * 2.0 * (members - 1) / members / transfer_ns, 0.5)
  FROM (SELECT communicator, sequence, any_value(tag) AS tag, any_value(function) AS function, count(*) AS members,
               any_value(bytes) AS size_bytes, min(duration) AS transfer_ns, max(duration) AS effective_ns
          FROM operation GROUP BY communicator, sequence)
 GROUP BY tag, function"""

# Who came last in each instance and by how much, by rank.
STRAGGLERS = """
SELECT arg, count(*), sum(margin) FROM (
    SELECT arg_min(rank, duration) AS arg, list_sort(list(duration))[2] - min(duration) AS margin
      FROM operation GROUP BY communicator, sequence)
 GROUP BY arg ORDER BY 3 DESC"""

EXPORT_OPERATIONS = """
SELECT communicator_id AS communicator, member.rank AS rank, function, sequence, bytes, operation_join.tag AS tag,
       coalesce(duration_ns, device_end_ns - device_begin_ns) AS duration
  FROM operation JOIN member USING (member_id) JOIN operation_join USING (operation_id)"""


def our_command(bench, *arguments):
    command = [f"{bench.build}/ncclprof", "-q", "--store", bench.store, *arguments]
    return lambda series: series.add(run(command))


def their_command(duckdb, database, sql):
    def once(series):
        cost, seconds = duckdb.sql(database, sql)
        series.add(cost, seconds[0])
    return once


def export(bench, duckdb, sql, table):
    """Rows of the store into a table of DuckDB's, which is not timed."""
    database, rows = f"{bench.room}/{table}.duckdb", f"{bench.room}/{table}.csv"
    if os.path.exists(database):
        os.remove(database)
    run(f"{bench.build}/ncclprof --store {bench.store} query --format csv '{sql}' > {rows}")
    duckdb.sql(database, f"CREATE TABLE {table} AS FROM read_csv('{rows}')")
    os.remove(rows)
    return database


def compare(bench, title, pairs, runs):
    """Pairs of ours and theirs (or None), in turn."""
    contenders = []
    for name, arguments, theirs in pairs:
        contenders.append((Series(f"ncclprof {name}", 0), our_command(bench, *arguments)))
        if theirs:
            contenders.append((Series(f"DuckDB, 2 threads, SQL for {name}", 0), theirs))
    interleave(contenders, runs)
    show(title, ["what", "seconds", "spread", "peak RSS MB"],
         [[series.name, f"{series.median():.2f}", f"± {series.spread():.0%}", f"{series.memory():.0f}"]
          for series, _ in contenders])


def operations(bench, duckdb, runs):
    path = bench.data.folder("Inspector", OPERATIONS * LINE_BYTES)
    cost = bench.ingest(path, 2)
    print(f"ingest of {OPERATIONS / 1e6:.0f} M operations, {bytes_in(path) / 1e6:.0f} MB: {cost.seconds:.1f} s, "
          f"{cost.resident / 1e6:.0f} MB", flush=True)
    report = stragglers = None
    if duckdb:
        database = export(bench, duckdb, EXPORT_OPERATIONS, "operation")
        report = their_command(duckdb, database, REPORT)
        stragglers = their_command(duckdb, database, STRAGGLERS)
    compare(bench, f"{OPERATIONS / 1e6:.0f} M operation records",
            [("report --by-tag", ["report", "--by-tag"], report), ("stragglers", ["stragglers"], stragglers),
             ("diagnose", ["diagnose"], None)], runs)


def job(bench, duckdb, runs):
    """A simulated job of 256 ranks with a slow one, and its network steps."""
    path = bench.data.job("job-256", ["--shape", "3d", "--tp", "8", "--dp", "8", "--pp", "4", "--ranks", "256", "--steps",
                                      "12", "--layers", "4", "--dialect", "chrome-v7", "--fault", "compute:37:5:8:20%"])
    cost = bench.ingest(path, 2)
    print(f"ingest of a job of 256 ranks, {bytes_in(path) / 1e6:.0f} MB: {cost.seconds:.1f} s, "
          f"{cost.resident / 1e6:.0f} MB", flush=True)
    compare(bench, "A job of 256 ranks, Chrome",
            [(name, [*name.split()], None) for name in ("report --by-tag", "stragglers", "stalls", "diagnose")], runs)


def bench(bench, duckdb, runs):
    operations(bench, duckdb, runs)
    job(bench, duckdb, runs)
