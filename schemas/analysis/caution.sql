-- What a judgement has to be warned of. ?1 is a run, or NULL for all of them.

-- Calls below which no operation stands: of those that moved data what became of them is not known. Captured in a graph, and
-- not. Those of no data, or of one rank, moved none.
-- statement: bare_calls
SELECT coalesce(sum(count) FILTER (WHERE reason = 'call without operation: captured in a graph'), 0),
       coalesce(sum(count) FILTER (WHERE reason = 'call without operation'), 0)
  FROM ledger
 WHERE reason GLOB 'call without operation*' AND (?1 IS NULL OR file_id IN (
     SELECT file_id FROM file_member JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
      WHERE run_id = ?1));

-- statement: copies
-- Files that were left out, or not read again, as they repeat another (its ledger tells, see ingest/copies.h); and
-- operations of which another file tells, too. ?1: a run, or all.
SELECT (SELECT coalesce(sum(count), 0) FROM ledger
         WHERE reason = 'another file is a copy of this one, or of its beginning'
           AND (?1 IS NULL OR file_id IN (
               SELECT file_id FROM file_member JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
                WHERE run_id = ?1))),
       (SELECT coalesce(sum(doubles), 0) FROM operation_recorded
         WHERE doubles > 0
           AND member_id NOT IN (SELECT member_id FROM witness JOIN member USING (process_id))
           AND (?1 IS NULL OR block_id >> 32 IN (
               SELECT file_id FROM file_member JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
                WHERE run_id = ?1)));

-- statement: repeated
-- Inspector numbers each collective of a communicator and function once: where two logs of a process have the same with
-- another content (what is alike is left out), the process was started anew under its id. Operations are looked at only
-- where a process has several logs.
WITH several AS (
    SELECT member_id FROM file_member JOIN file USING (file_id)
     WHERE dialect GLOB 'inspector*' AND (?1 IS NULL OR member_id IN (
         SELECT member_id FROM job_rank JOIN member_join USING (job_rank_id) WHERE run_id = ?1))
     GROUP BY member_id HAVING count(*) > 1
)
SELECT count(*) FROM (
    SELECT 1 FROM several CROSS JOIN operation ON operation.member_id = several.member_id
     WHERE kind = 0 AND sequence IS NOT NULL
     GROUP BY operation.member_id, function, sequence HAVING count(DISTINCT operation_id >> 32) > 1);

-- Processes whose clock stepped, each with its greatest step (SQLite takes what stands beside a maximum from its row) and
-- the first operation after it.
-- statement: clock_steps
WITH stepped AS (
    SELECT process_id, count(*) AS steps, max(abs(step_ns)) AS size_ns, step_ns, is_measured, operation_id
      FROM clock_step GROUP BY process_id
)
SELECT (SELECT min(run_id) FROM job_rank WHERE job_rank.process_id = stepped.process_id) AS run_id,
       (SELECT CASE count(*) WHEN 1 THEN min(name) END FROM job_rank WHERE job_rank.process_id = stepped.process_id) AS rank,
       process.host, process.pid, steps, step_ns, is_measured, o.function, o.sequence, o.communicator, o.step
  FROM stepped
  JOIN process USING (process_id)
  LEFT JOIN v_operation o ON o.operation_id = stepped.operation_id
 WHERE ?1 IS NULL OR EXISTS (SELECT 1 FROM job_rank WHERE job_rank.process_id = stepped.process_id AND run_id = ?1)
 ORDER BY 1, size_ns DESC, host, pid;

-- Pairs that differ in size, of each run: how many, and the first.
-- statement: unequal_pairs
SELECT run_id, sum(pairs) OVER (PARTITION BY run_id), label, sequence, sent_bytes, received_bytes,
       (SELECT min(name) FROM member JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
         WHERE member.communicator_id = u.communicator_id AND member.rank = sender),
       (SELECT min(name) FROM member JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
         WHERE member.communicator_id = u.communicator_id AND member.rank = receiver)
  FROM unequal_pair u JOIN communicator_join c USING (communicator_id)
 WHERE ?1 IS NULL OR run_id = ?1
 ORDER BY run_id, sequence, label, sender, receiver;

-- Runs that several recorders tell of: whose operations count, who else tells of them, and of how many.
-- statement: witnesses
SELECT run_id,
       (SELECT group_concat(dialect, ', ')
          FROM (SELECT DISTINCT dialect
                  FROM process_run AS of_run JOIN member USING (process_id) JOIN file_member USING (member_id) JOIN file USING (file_id)
                 WHERE of_run.run_id = told.run_id AND process_id NOT IN (SELECT process_id FROM witness)
                 ORDER BY dialect)),
       (SELECT group_concat(dialect, ', ')
          FROM (SELECT DISTINCT dialect
                  FROM process_run AS of_run JOIN witness USING (process_id) JOIN member USING (process_id)
                  JOIN file_member USING (member_id) JOIN file USING (file_id)
                 WHERE of_run.run_id = told.run_id
                 ORDER BY dialect)),
       (SELECT coalesce(sum(doubles), 0)
          FROM process_run AS of_run JOIN witness USING (process_id) JOIN member USING (process_id)
          JOIN operation_recorded USING (member_id)
         WHERE of_run.run_id = told.run_id)
  FROM (SELECT DISTINCT run_id FROM witness JOIN process_run USING (process_id)) AS told
 WHERE ?1 IS NULL OR run_id = ?1
 ORDER BY run_id;

-- Runs that may be one job.
-- statement: doubts
SELECT DISTINCT min(one.run_id, other.run_id), max(one.run_id, other.run_id), why
  FROM witness_doubt
  JOIN process_run AS one ON one.process_id = witness_doubt.process_id
  JOIN process_run AS other ON other.process_id = other_process_id
 WHERE one.run_id <> other.run_id AND (?1 IS NULL OR one.run_id = ?1 OR other.run_id = ?1)
 ORDER BY 1, 2;

-- What processes warn of that are no rank of any run, alike ones together: where the first of them stands.
-- statement: rankless_warnings
SELECT host, pid, gpu, warning.kind, warning.text, path, byte_offset, count(*), min(warning_id)
  FROM warning JOIN process USING (process_id) JOIN file ON file.file_id = warning_id >> 32
 WHERE process_id NOT IN (SELECT process_id FROM job_rank WHERE process_id IS NOT NULL)
   AND process_id NOT IN (SELECT process_id FROM witness)
 GROUP BY process_id, warning.kind
 ORDER BY min(warning_id);

-- Calls that NCCL's log does not say the communicator of (lib/format/nccl/process.c), by process.
-- statement: unnamed_calls
SELECT what, host, pid, sum(events)
  FROM loss JOIN process USING (process_id)
 WHERE what GLOB '*: *Init line*'
 GROUP BY what, process_id
 ORDER BY what, host, pid;

-- Files of NCCL's log in which PyTorch's watchdog speaks, too (lib/format/nccl/nccl.c): how many, the first of them, its lines.
-- statement: watchdog_lines
SELECT count(*) OVER (), path, count, first_offset
  FROM ledger JOIN file USING (file_id)
 WHERE reason = 'line of PyTorch''s watchdog'
 ORDER BY path LIMIT 1;
