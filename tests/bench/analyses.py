"""Speed of report, stragglers, stalls and diagnose on many records; for queries that SQL can express, also DuckDB on the same records.

DuckDB does less work, or about as much, never more: a comment at each query lists what its SQL omits.
"""
import os

from data import bytes_in, parse_size
from measure import Series, interleave, run, show

OPERATIONS = parse_size(os.environ.get("BENCH_OPERATIONS", "1M"))
LINE_BYTES = 469  # per operation in the simulator's terse Inspector lines
STEP_BYTES = 840  # per network step in its Chrome trace
OPERATIONS_A_STEP = 600  # for the simulated job of 8 ranks

# The rows of report --by-tag, from records that are already joined: transfer time is the shortest duration over the ranks
# of an instance, effective time the longest.
REPORT = """
SELECT {keys}, count(*) AS instances, sum(members), sum(size_bytes),
       quantile_disc(transfer_ns, 0.5), quantile_disc(effective_ns, 0.5), quantile_disc(effective_ns, 0.99),
       quantile_disc(size_bytes * 2.0 * (members - 1) / members / transfer_ns, 0.5),
       quantile_disc(size_bytes * 2.0 * (members - 1) / members / effective_ns, 0.5)
  FROM ({instances})
 GROUP BY {keys}"""
BY_TAG = REPORT.format(keys="tag, function", instances="""
        SELECT any_value(tag) AS tag, any_value(function) AS function, count(*) AS members,
               any_value(bytes) AS size_bytes, min(duration) AS transfer_ns, max(duration) AS effective_ns
          FROM operation GROUP BY communicator, sequence""")
BY_RANK = REPORT.format(keys="rank", instances="""
        SELECT rank, count(*) OVER instance AS members, bytes AS size_bytes, min(duration) OVER instance AS transfer_ns,
               max(duration) OVER instance AS effective_ns
          FROM operation WINDOW instance AS (PARTITION BY communicator, sequence)""")

# The rank that arrived last in each instance, and how long the others waited for it: everything that durations show.
WAITED = """
SELECT last, count(*), sum(waited) FROM (
    SELECT arg_min(rank, duration) AS last, sum(duration) - count(*) * min(duration) AS waited
      FROM operation GROUP BY communicator, sequence)
 GROUP BY last ORDER BY 3 DESC"""

# The same from timestamps, and the part of the wait that is the own time of the last rank: from the end of one operation
# to the start of the next, minus that of its peers at that place of the step, or its own in other steps. Delays are not
# propagated, nothing is replayed, and no clocks are aligned.
OWN = """
WITH own AS (
    SELECT *, row_number() OVER (PARTITION BY rank, step ORDER BY start_ns) AS place,
           start_ns - lag(end_ns) OVER (PARTITION BY rank ORDER BY start_ns) AS own_ns
      FROM timed),
usual AS (
    SELECT *, median(own_ns) OVER (PARTITION BY step, place) AS peers_ns,
           quantile_cont(own_ns, 0.25) OVER (PARTITION BY rank, place) AS past_ns
      FROM own),
wait AS (
    SELECT arg_min(rank, duration) AS last, sum(duration) - count(*) * min(duration) AS waited,
           arg_min(greatest(own_ns - greatest(peers_ns, past_ns), 0), duration) AS excess
      FROM usual GROUP BY communicator, function, sequence)
SELECT last, count(*), sum(waited), sum(least(waited, excess)) FROM wait GROUP BY last ORDER BY 4 DESC"""

# By link: the medians and the longest wait; and by training step, how long at least one network step waited (waits
# overlap). No verdicts.
EDGES = """
SELECT member, peer, direction, count(*), quantile_disc(network_end - network_begin, 0.5),
       max(network_end - network_begin)
  FROM step GROUP BY ALL"""
BUSY = """
WITH waits AS (
    SELECT member, peer, direction, training_step, network_begin, network_end,
           max(network_end) OVER (PARTITION BY operation, member, peer, direction ORDER BY network_begin
                                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
      FROM step)
SELECT member, peer, direction, training_step, count(*), sum(network_end - network_begin),
       sum(greatest(0, network_end - greatest(network_begin, coalesce(reached, network_begin))))
  FROM waits GROUP BY ALL"""

EXPORT_OPERATIONS = """
SELECT communicator_id AS communicator, member.rank AS rank, function, sequence, bytes, operation_join.tag AS tag,
       coalesce(duration_ns, device_end_ns - device_begin_ns) AS duration
  FROM operation JOIN member USING (member_id) JOIN operation_join USING (operation_id)"""
EXPORT_TIMED = """
SELECT communicator_id AS communicator, job_rank.global_rank AS rank, function,
       coalesce(sequence, instance_id) AS sequence, step, device_begin_ns AS start_ns, device_end_ns AS end_ns,
       device_end_ns - device_begin_ns AS duration
  FROM operation JOIN member USING (member_id) JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
  JOIN operation_join USING (operation_id)"""
EXPORT_STEPS = """
SELECT s.member_id AS member, s.direction AS direction, s.peer AS peer, s.operation_id AS operation,
       j.step AS training_step, s.network_begin_ns AS network_begin, s.network_end_ns AS network_end
  FROM proxy_step s LEFT JOIN operation_join j USING (operation_id)"""


def our_command(bench, *arguments):
    command = [f"{bench.build}/ncclprof", "-q", "--store", bench.store, *arguments]
    return lambda series: series.add(run(command))


def their_command(duckdb, database, sql):
    def once(series):
        cost, seconds = duckdb.sql(database, sql)
        series.add(cost, seconds[0])
    return once


def export(bench, duckdb, sql, table):
    """Copies rows of the store into a table of DuckDB. Not timed."""
    database, rows = f"{bench.room}/{table}.duckdb", f"{bench.room}/{table}.csv"
    if os.path.exists(database):
        os.remove(database)
    run(f"{bench.build}/ncclprof --store {bench.store} query --timeout 0 --format csv '{sql}' > {rows}")
    duckdb.sql(database, f"CREATE TABLE {table} AS FROM read_csv('{rows}')")
    os.remove(rows)
    return database


def compare(title, pairs, runs):
    """Pairs of (name, cost of ncclprof or None, cost of DuckDB or None), in turn."""
    contenders = []
    for name, ours, theirs in pairs:
        if ours:
            contenders.append((Series(f"ncclprof {name}", 0), ours))
        if theirs:
            contenders.append((Series(f"DuckDB, 2 threads: {name}", 0), theirs))
    interleave(contenders, runs)
    show(title, ["what", "seconds", "spread", "CPU s", "peak RSS MB"],
         [[series.name, f"{series.median():.2f}", f"± {series.spread():.0%}",
           f"{sorted(series.cpu)[len(series.cpu) // 2]:.2f}", f"{series.memory():.0f}"] for series, _ in contenders])


def ingest(bench, path, what):
    cost = bench.ingest(path, 2)
    print(f"ingest of {what}, {bytes_in(path) / 1e6:.0f} MB: {cost.seconds:.1f} s, {cost.cpu:.1f} CPU s, "
          f"{cost.resident / 1e6:.0f} MB; store {os.path.getsize(bench.store) / 1e6:.0f} MB", flush=True)


def durations(bench, duckdb, runs):
    """Records with durations only."""
    path = bench.data.folder("Inspector", OPERATIONS * LINE_BYTES)
    ingest(bench, path, f"{OPERATIONS / 1e6:.0f} M operations")
    database = duckdb and export(bench, duckdb, EXPORT_OPERATIONS, "operation")
    theirs = (lambda sql: their_command(duckdb, database, sql)) if duckdb else (lambda sql: None)
    compare(f"{OPERATIONS / 1e6:.0f} M operation records that tell durations",
            [("report --by-tag", our_command(bench, "report", "--by-tag"), theirs(BY_TAG)),
             ("report --by rank", our_command(bench, "report", "--by", "rank"), theirs(BY_RANK)),
             ("stragglers", our_command(bench, "stragglers"), theirs(WAITED)),
             ("diagnose", our_command(bench, "diagnose"), None)], runs)


def times(bench, duckdb, runs):
    """Records with timestamps: the complete analysis of delays."""
    steps = max(OPERATIONS // OPERATIONS_A_STEP, 20)
    path = bench.data.job(f"times-{steps}", ["--shape", "3d", "--tp", "2", "--dp", "2", "--pp", "2", "--ranks", "8",
                                             "--layers", "8", "--microbatches", "4", "--steps", str(steps), "--dialect",
                                             "inspector-2.30", "--fault", "compute:3:5:15:20%"])
    ingest(bench, path, f"{steps * OPERATIONS_A_STEP / 1e6:.1f} M operations with times")
    theirs = duckdb and their_command(duckdb, export(bench, duckdb, EXPORT_TIMED, "timed"), OWN)
    compare(f"{steps * OPERATIONS_A_STEP / 1e6:.1f} M operation records that tell times",
            [("report --by-tag", our_command(bench, "report", "--by-tag"), None),
             ("stragglers", our_command(bench, "stragglers"), theirs),
             ("diagnose", our_command(bench, "diagnose"), None)], runs)


def network_steps(bench, duckdb, runs):
    path = bench.data.folder("Chrome", OPERATIONS * STEP_BYTES)
    ingest(bench, path, f"{OPERATIONS / 1e6:.0f} M network steps")
    database = duckdb and export(bench, duckdb, EXPORT_STEPS, "step")
    theirs = (lambda sql: their_command(duckdb, database, sql)) if duckdb else (lambda sql: None)
    compare(f"{OPERATIONS / 1e6:.0f} M network steps",
            [("stalls", our_command(bench, "stalls"), theirs(BUSY)),
             ("medians and longest waits alone", None, theirs(EDGES))], runs)


def job(bench, runs):
    """A simulated job of 256 ranks with a slow rank, and its network steps."""
    path = bench.data.job("job-256", ["--shape", "3d", "--tp", "8", "--dp", "8", "--pp", "4", "--ranks", "256", "--steps",
                                      "12", "--layers", "4", "--dialect", "chrome-v7", "--fault", "compute:37:5:8:20%"])
    ingest(bench, path, "a job of 256 ranks")
    compare("A job of 256 ranks, Chrome",
            [(name, our_command(bench, *name.split()), None)
             for name in ("report --by-tag", "stragglers", "stalls", "diagnose")], runs)


def bench(bench, duckdb, runs):
    durations(bench, duckdb, runs)
    times(bench, duckdb, runs)
    network_steps(bench, duckdb, runs)
    job(bench, runs)
