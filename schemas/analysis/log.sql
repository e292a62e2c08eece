-- What NCCL's log contains besides calls (lib/job/load_coverage.c). ?1 is the run.

-- The creation of communicators on each rank. If several logs contain the same one, the first is used. For a second
-- recorder the rank is that of the process it recorded.
-- statement: start_ups
WITH told AS (
    SELECT member_id, member_id AS by_member_id FROM job_rank CROSS JOIN member_join USING (job_rank_id) WHERE run_id = ?1
    UNION ALL
    SELECT as_member_id, witness_member.member_id
      FROM job_rank CROSS JOIN member_join USING (job_rank_id)
     CROSS JOIN witness_member ON as_member_id = member_join.member_id
     WHERE run_id = ?1
)
SELECT min(start_up_id), told.member_id, function, parent_hash,
       (SELECT communicator_id FROM communicator WHERE hash = parent_hash LIMIT 1), begin_ns, end_ns, is_complete, total_ns, kernels_ns, allocation_ns, bootstrap_ns, allgathers_ns, topology_ns, graphs_ns,
       connections_ns, rest_ns
  FROM told
 CROSS JOIN start_up ON start_up.member_id = by_member_id
 GROUP BY told.member_id
 ORDER BY 1;

-- Warnings of the run's ranks. Equal warnings are grouped: the first, their number, and the time of the last. If a
-- process has several ranks, grouped by the device of the thread. The number of calls before the warning is only given
-- if the file lists calls. They are ordered by rank and path, because ids depend on which file was read first.
-- statement: warnings
WITH of_run AS (
    SELECT DISTINCT job_rank_id, member.process_id
      FROM job_rank CROSS JOIN member_join USING (job_rank_id) CROSS JOIN member USING (member_id)
     WHERE run_id = ?1
    UNION
    SELECT job_rank_id, process_id FROM job_rank WHERE run_id = ?1 AND process_id IS NOT NULL
    UNION
    SELECT job_rank_id, witness.process_id
      FROM job_rank CROSS JOIN witness ON as_process_id = job_rank.process_id
     WHERE run_id = ?1
), alike AS (
    SELECT job_rank_id, warning.gpu, kind, status, nic, peer, count(*) AS count, min(at_ns) AS first_ns,
           max(at_ns) AS last_ns, max(calls) AS calls, min(warning_id) AS warning_id, max(pid) AS pid
      FROM of_run CROSS JOIN warning USING (process_id) JOIN process USING (process_id)
     WHERE kind <> 35
     GROUP BY job_rank_id, warning.gpu, kind, status, nic, peer
)
SELECT job_rank_id, alike.gpu, alike.kind, alike.status, alike.nic, alike.peer, count, first_ns, last_ns,
       CASE WHEN EXISTS (SELECT 1 FROM operation_block
                          WHERE block_id BETWEEN warning_id >> 32 << 32 AND (warning_id >> 32 << 32) + 4294967295)
              -- Or a join left out its calls, because a trace also contains them.
              OR EXISTS (SELECT 1 FROM operation_recorded
                          WHERE block_id BETWEEN warning_id >> 32 << 32 AND (warning_id >> 32 << 32) + 4294967295)
            THEN alike.calls END,
       warning_id, CASE WHEN alike.kind <> 0 THEN text END, alike.pid
  FROM alike CROSS JOIN warning USING (warning_id) JOIN job_rank USING (job_rank_id)
  JOIN file ON file_id = warning_id >> 32
 ORDER BY global_rank, job_rank.name, job_rank_id, path, warning_id;

-- Settings and versions of the run's ranks, as NAME=VALUE; NULL for a rank whose log has the creation of a communicator,
-- but no setting.
-- statement: settings
WITH of_run AS (
    SELECT job_rank_id, name, global_rank, process_id FROM job_rank WHERE run_id = ?1 AND process_id IS NOT NULL
    UNION
    SELECT job_rank_id, name, global_rank, witness.process_id
      FROM job_rank CROSS JOIN witness ON as_process_id = job_rank.process_id
     WHERE run_id = ?1
)
SELECT job_rank_id, name, text, global_rank, warning_id
  FROM of_run CROSS JOIN warning USING (process_id)
 WHERE kind = 35
UNION ALL
SELECT DISTINCT job_rank_id, name, NULL, global_rank, 0
  FROM of_run CROSS JOIN member USING (process_id) CROSS JOIN start_up USING (member_id)
 ORDER BY global_rank, name, job_rank_id, warning_id;

-- The file, offset and time of warning ?1, on the clock of its log.
-- statement: warning_record
SELECT path, byte_offset, at_ns
  FROM warning JOIN file ON file_id = warning_id >> 32
 WHERE warning_id = ?1;

-- The addresses of the ranks' hosts. A process has a fact for each of its members, but is read once.
-- statement: addresses
WITH of_run AS (
    SELECT DISTINCT job_rank_id, member.process_id
      FROM job_rank CROSS JOIN member_join USING (job_rank_id) CROSS JOIN member USING (member_id)
     WHERE run_id = ?1
    UNION
    SELECT job_rank_id, witness.process_id
      FROM job_rank CROSS JOIN witness ON as_process_id = job_rank.process_id
     WHERE run_id = ?1
)
SELECT DISTINCT job_rank_id, address
  FROM of_run CROSS JOIN process_fact USING (process_id)
 WHERE address IS NOT NULL
 ORDER BY job_rank_id, address;
