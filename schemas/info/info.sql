-- Queries of `ncclprof info`: the content of a store.

-- statement: counts
-- Records as in the files, unless the name says otherwise. A step is a training step.
SELECT (SELECT count(*) FROM process WHERE process_id NOT IN (SELECT process_id FROM witness)) AS processes,
       (SELECT count(*) FROM v_communicator) AS communicators,
       (SELECT count(*) FROM operation WHERE kind <> 1) AS collectives,
       (SELECT count(*) FROM operation WHERE kind = 1) AS p2p,
       (SELECT count(*) FROM proxy_operation WHERE continued = 0) AS proxy_ops,
       (SELECT coalesce(sum(steps_recorded), 0) FROM proxy_operation) AS proxy_steps,
       (SELECT count(*) FROM tag_mark WHERE is_end = 0) AS tags,
       (SELECT coalesce(max(step_count - first_step), 0) FROM run) AS steps,
       (SELECT count(*) FROM file) AS files,
       (SELECT coalesce(sum(skipped), 0) FROM file) + (SELECT coalesce(sum(doubles), 0) FROM operation_recorded) AS skipped,
       (SELECT count(*) FROM instance WHERE sender IS NULL) AS collective_instances,
       (SELECT count(*) FROM instance WHERE sender IS NOT NULL) AS p2p_instances,
       (SELECT count(*)
        FROM (SELECT text FROM tag_mark WHERE text IS NOT NULL UNION SELECT tag FROM operation WHERE tag IS NOT NULL)) AS distinct_tags,
       (SELECT count(*) FROM run) AS runs,
       (SELECT coalesce(sum(bytes), 0) FROM file) AS bytes,
       (SELECT coalesce(sum(events), 0) FROM v_dropped) AS dropped,
       (SELECT count(*) FROM file WHERE status = 'partial') AS partial_files,
       (SELECT count(*) FROM warning WHERE kind NOT IN (33, 35)) AS warnings,
       (SELECT coalesce(sum(samples), 0) FROM node_sample_block) AS node_samples,
       (SELECT count(*) FROM node_event) AS node_events

-- statement: runs
-- Also the directory of the file with the least path (next to min(), SQLite takes it from the same row).
WITH of_run AS (
    SELECT r.run_id, count(DISTINCT f.file_id) AS files, min(f.path) AS first_file, f.file_set
    FROM job_rank r
    JOIN member_join USING (job_rank_id)
    JOIN file_member USING (member_id)
    JOIN file f USING (file_id)
    GROUP BY r.run_id
), recorder AS (
    SELECT DISTINCT run_id, dialect, process_id IN (SELECT process_id FROM witness) AS is_second
    FROM process_run
    JOIN member USING (process_id)
    JOIN file_member USING (member_id)
    JOIN file USING (file_id)
    ORDER BY dialect
)
SELECT run_id AS run, name, rank_count AS ranks, expected_ranks, step_count - first_step AS steps,
       (SELECT group_concat(dialect, ', ') FROM recorder WHERE recorder.run_id = run.run_id AND NOT is_second) AS recorder,
       (SELECT group_concat(dialect, ', ') FROM recorder WHERE recorder.run_id = run.run_id AND is_second) AS other_recorders,
       files, file_set, first_file
FROM run LEFT JOIN of_run USING (run_id)
ORDER BY run_id

-- statement: communicators
SELECT v.run_id AS run,
       v.communicator,
       v.communicator_hash_hex AS hash,
       v.name,
       v.size,
       v.size_is_known,
       v.ranks_seen,
       v.node_count AS nodes,
       count(o.operation_id) FILTER (WHERE o.kind <> 1) AS collectives,
       count(o.operation_id) FILTER (WHERE o.kind = 1) AS p2p
FROM v_communicator v
LEFT JOIN member m ON m.communicator_id = v.communicator_id
LEFT JOIN operation o ON o.member_id = m.member_id
GROUP BY v.communicator_id
ORDER BY v.run_id, v.size DESC, v.communicator, v.communicator_id

-- Count first and join processes afterwards: in one query SQLite would scan all members for each process.
-- statement: processes
WITH counted AS (
    SELECT m.process_id,
           mj.job_rank_id,
           count(DISTINCT m.communicator_id) AS communicators,
           count(o.operation_id) FILTER (WHERE o.kind <> 1) AS collectives,
           count(o.operation_id) FILTER (WHERE o.kind = 1) AS p2p
    FROM member m
    LEFT JOIN operation o ON o.member_id = m.member_id
    LEFT JOIN member_join mj ON mj.member_id = m.member_id
    GROUP BY m.process_id, mj.job_rank_id
)
SELECT r.run_id AS run,
       r.global_rank AS rank,
       r.name AS rank_name,
       coalesce(nullif(p.host, ''), v.host) AS host,
       nullif(p.pid, -1) AS pid,
       v.local_rank,
       v.gpu,
       v.gpu_bus_id,
       v.gpu_serial,
       v.nic,
       v.framework_name,
       coalesce(c.communicators, 0) AS communicators,
       coalesce(c.collectives, 0) AS collectives,
       coalesce(c.p2p, 0) AS p2p,
       p.file_set
FROM process p
LEFT JOIN counted c ON c.process_id = p.process_id
LEFT JOIN job_rank r ON r.job_rank_id = c.job_rank_id
LEFT JOIN v_rank v ON v.job_rank_id = c.job_rank_id
WHERE p.process_id NOT IN (SELECT process_id FROM witness)
ORDER BY r.run_id, r.global_rank, r.name, p.process_id

-- statement: files
-- A record of an operation that another record also contains counts as skipped.
WITH repeated AS (
    SELECT block_id >> 32 AS file_id, sum(doubles) AS doubles FROM operation_recorded GROUP BY 1
)
SELECT path, dialect, status, events - coalesce(doubles, 0) AS events, skipped + coalesce(doubles, 0) AS skipped, bytes,
       unpacked_bytes
  FROM file LEFT JOIN repeated USING (file_id) ORDER BY path, file_id

-- statement: warnings
-- Equal warnings of a process are grouped, with the time and text of the first.
WITH counted AS (
    SELECT process_id, kind, status, nic, peer, min(warning_id) AS warning_id, count(*) AS count, min(at_ns) AS at_ns
      FROM warning
     WHERE kind NOT IN (33, 35)
     GROUP BY process_id, kind, status, nic, peer, CASE WHEN kind = 0 THEN text END
), placed AS (
    SELECT process_id, CASE WHEN count(DISTINCT job_rank_id) = 1 THEN min(job_rank_id) END AS job_rank_id
      FROM member JOIN member_join USING (member_id) GROUP BY process_id
    UNION ALL
    SELECT witness.process_id, min(job_rank_id)
      FROM witness JOIN job_rank ON job_rank.process_id = as_process_id GROUP BY witness.process_id
)
SELECT r.run_id AS run,
       r.global_rank AS rank,
       nullif(p.host, '') AS host,
       nullif(p.pid, -1) AS pid,
       strftime('%Y-%m-%d %H:%M:%S', c.at_ns / 1000000000, 'unixepoch') AS time,
       c.count,
       CASE c.kind WHEN 1 THEN 'transfer' WHEN 2 THEN 'card' WHEN 3 THEN 'connection' WHEN 4 THEN 'no answer' WHEN 5 THEN 'dead'
            WHEN 6 THEN 'internal error' WHEN 7 THEN 'CUDA' WHEN 8 THEN 'memory' WHEN 9 THEN 'request' WHEN 10 THEN 'card not opened'
            WHEN 11 THEN 'mismatch' WHEN 12 THEN 'aborted' WHEN 13 THEN 'card, fatal' WHEN 14 THEN 'system' WHEN 15 THEN 'usage'
            WHEN 16 THEN 'stuck' WHEN 17 THEN 'exception' WHEN 18 THEN 'NCCL error' WHEN 19 THEN 'never joined' WHEN 20 THEN 'not finished'
            WHEN 21 THEN 'no dump' WHEN 22 THEN 'ended' WHEN 32 THEN 'card back' WHEN 34 THEN 'got over' ELSE 'other' END AS about,
       CASE WHEN c.kind NOT IN (19, 20) THEN c.status END AS ib_status,
       c.nic,
       c.peer,
       w.text
  FROM counted c
  JOIN warning w USING (warning_id)
  JOIN process p ON p.process_id = c.process_id
  LEFT JOIN placed ON placed.process_id = c.process_id
  LEFT JOIN job_rank r USING (job_rank_id)
  JOIN file ON file_id = c.warning_id >> 32
 ORDER BY c.at_ns IS NULL, c.at_ns, r.run_id, r.global_rank, path, c.warning_id

-- statement: ledger
-- A missing or incomplete shard is a loss like any other.
SELECT reason, dialect, damage, sum(count) AS count, count(*) AS files, min(first_offset) AS offset, example, path AS first_file
FROM v_ledger
GROUP BY reason, dialect, damage
UNION ALL
SELECT 'shard ' || CASE WHEN count > 1 THEN number || '/' || count || ' ' ELSE '' END ||
       CASE state WHEN 'missing' THEN 'is missing' WHEN 'lacking' THEN 'lacks files' ELSE 'is not all there' END,
       NULL, 1, 1, 0, NULL, reason, nullif(path, '')
FROM shard
WHERE state <> 'whole'
ORDER BY damage DESC, count DESC, reason

-- statement: shards
SELECT number AS shard, count AS shards, nullif(job, '') AS job, nullif(host, '') AS host, is_of_host, state,
       nullif(path, '') AS path, reason
  FROM shard
 ORDER BY job, count, number, host, path

-- statement: views
-- The tables meant for queries: the views, and the one table that these leave out. If the views in the file are not
-- ours, ours are temporary (lib/store/migrate.c).
SELECT name FROM sqlite_temp_schema WHERE type = 'view'
UNION ALL SELECT name FROM main.sqlite_schema
           WHERE type = 'view' AND NOT EXISTS (SELECT 1 FROM sqlite_temp_schema WHERE type = 'view')
UNION ALL SELECT 'proxy_step'
ORDER BY name

-- statement: rows_of
-- The name of a view is appended.
SELECT * FROM
