-- Facts that limit what an analysis can conclude; it warns of these. ?1 is a run; NULL: all runs.

-- API calls without a recorded operation, captured in a graph and not captured. What became of them is unknown. Calls
-- without data and calls on one rank are not counted, because they move no data.
-- statement: bare_calls
SELECT coalesce(sum(count) FILTER (WHERE reason = 'call without operation: captured in a graph'), 0),
       coalesce(sum(count) FILTER (WHERE reason = 'call without operation'), 0)
  FROM ledger
 WHERE reason GLOB 'call without operation*' AND (?1 IS NULL OR file_id IN (
     SELECT file_id FROM file_member JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
      WHERE run_id = ?1));

-- statement: copies
-- Files that were left out or not read again because they repeat another (see its ledger and lib/ingest/duplicates.c),
-- and operations that another file contains as well. ?1: a run; NULL: all runs.
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
-- Inspector numbers each collective of a communicator and function once. If two logs of a process have the same number
-- with different content (equal records were left out before), a new process was started with the same pid. Operations
-- are only read for processes with several logs.
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

-- Processes whose clock stepped, each with its largest step (next to max(), SQLite takes the other columns from the row
-- of the maximum) and the first operation after it.
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

-- Send and receive pairs of unequal size in each run: their number, and the first.
-- statement: unequal_pairs
SELECT run_id, sum(pairs) OVER (PARTITION BY run_id), label, sequence, sent_bytes, received_bytes,
       (SELECT min(name) FROM member JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
         WHERE member.communicator_id = u.communicator_id AND member.rank = sender),
       (SELECT min(name) FROM member JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
         WHERE member.communicator_id = u.communicator_id AND member.rank = receiver)
  FROM unequal_pair u JOIN communicator_join c USING (communicator_id)
 WHERE ?1 IS NULL OR run_id = ?1
 ORDER BY run_id, sequence, label, sender, receiver;

-- Runs with several recorders: the recorder whose operations are used, the other recorders, the number of operations that
-- these repeat, and the recorder that is not used because its kernel times belong to other operations.
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
         WHERE of_run.run_id = told.run_id),
       (SELECT min(dialect)
          FROM process_run AS of_run JOIN witness USING (process_id) JOIN member USING (process_id)
          JOIN file_member USING (member_id) JOIN file USING (file_id) JOIN ledger USING (file_id)
         WHERE of_run.run_id = told.run_id
           AND reason IN ('kernel channel of another operation', 'kernel channel of another operation after a Broadcast'))
  FROM (SELECT DISTINCT run_id FROM witness JOIN process_run USING (process_id)) AS told
 WHERE ?1 IS NULL OR run_id = ?1
 ORDER BY run_id;

-- Runs with kernels of other libraries than NCCL (lib/format/kineto/kernel_name.c): the libraries, and their operations.
-- statement: libraries
SELECT run_id, group_concat(name, ', '), sum(operations)
  FROM (SELECT run_id, name, sum(operations) AS operations
          FROM v_communicator JOIN member USING (communicator_id) JOIN operation_block USING (member_id)
         WHERE description = 'without NCCL' AND (?1 IS NULL OR run_id = ?1)
         GROUP BY run_id, name ORDER BY run_id, name)
 GROUP BY run_id ORDER BY run_id;

-- Runs with proxy operations for other processes (PXN) whose recorder does not tell which (FORMAT_NOTE_DETACHED_PROXIES), and
-- the number of their files.
-- statement: detached
SELECT run_id, count(DISTINCT file_id)
  FROM ledger JOIN file_member USING (file_id) JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
 WHERE reason = 'proxy operations for unknown processes' AND (?1 IS NULL OR run_id = ?1)
 GROUP BY run_id ORDER BY run_id;

-- Pairs of runs that may be the same job.
-- statement: doubts
SELECT DISTINCT min(one.run_id, other.run_id), max(one.run_id, other.run_id), why
  FROM witness_doubt
  JOIN process_run AS one ON one.process_id = witness_doubt.process_id
  JOIN process_run AS other ON other.process_id = other_process_id
 WHERE one.run_id <> other.run_id AND (?1 IS NULL OR one.run_id = ?1 OR other.run_id = ?1)
 ORDER BY 1, 2;

-- Warnings of processes that are not a rank of any run; equal warnings are grouped, with the position of the first.
-- statement: rankless_warnings
SELECT host, pid, gpu, warning.kind, warning.text, path, byte_offset, count(*), min(warning_id)
  FROM warning JOIN process USING (process_id) JOIN file ON file.file_id = warning_id >> 32
 WHERE process_id NOT IN (SELECT process_id FROM job_rank WHERE process_id IS NOT NULL)
   AND process_id NOT IN (SELECT process_id FROM witness)
   AND warning.kind <> 35
 GROUP BY process_id, warning.kind
 ORDER BY path, min(warning_id);

-- Calls for which NCCL's log does not show the communicator (lib/format/nccl/process.c), by process.
-- statement: unnamed_calls
SELECT what, host, pid, sum(events)
  FROM loss JOIN process USING (process_id)
 WHERE what GLOB '*: *Init line*'
 GROUP BY what, process_id
 ORDER BY what, host, pid;

-- Members of communicators whose ranks are taken from device numbers (lib/format/nccl/unnamed.c).
-- statement: ranks_of_devices
SELECT coalesce(sum(count), 0) FROM ledger
 WHERE reason = 'communicator without a name: its ranks are taken from device numbers';

-- NCCL logs that also contain lines of PyTorch's watchdog (lib/format/nccl/nccl.c): the number of files, and the first
-- file with its number of such lines.
-- statement: watchdog_lines
SELECT count(*) OVER (), path, count, first_offset
  FROM ledger JOIN file USING (file_id)
 WHERE reason = 'line of PyTorch''s watchdog'
 ORDER BY path LIMIT 1;
