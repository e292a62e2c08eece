-- What NCCL's log tells of a run beside its calls (lib/job/start_ups.c, lib/job/warnings.c). ?1 is the run.

-- How ranks came into communicators. Of several logs that tell of one the first counts; a witness's are of whom it tells.
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

-- What ranks of the run warned of, alike ones together: the first of them, how many, and until when. Where a process has
-- several ranks, of the device that the thread had.
-- statement: warnings
WITH of_run AS (
    SELECT DISTINCT job_rank_id, member.process_id
      FROM job_rank CROSS JOIN member_join USING (job_rank_id) CROSS JOIN member USING (member_id)
     WHERE run_id = ?1
    UNION
    SELECT job_rank_id, witness.process_id
      FROM job_rank CROSS JOIN witness ON as_process_id = job_rank.process_id
     WHERE run_id = ?1
)
SELECT job_rank_id, warning.gpu, kind, status, nic, peer, count(*), min(at_ns), max(at_ns), max(calls), max(pid)
  FROM of_run CROSS JOIN warning USING (process_id) JOIN process USING (process_id)
 GROUP BY job_rank_id, warning.gpu, kind, status, nic, peer
 ORDER BY job_rank_id, min(warning_id);

-- At which addresses the hosts of ranks are reached.
-- statement: addresses
SELECT DISTINCT job_rank_id, address
  FROM job_rank CROSS JOIN member_join USING (job_rank_id) CROSS JOIN member USING (member_id)
 CROSS JOIN process_fact ON process_fact.process_id = member.process_id
 WHERE run_id = ?1 AND address IS NOT NULL
UNION
SELECT job_rank_id, address
  FROM job_rank CROSS JOIN witness ON as_process_id = job_rank.process_id
 CROSS JOIN process_fact ON process_fact.process_id = witness.process_id
 WHERE run_id = ?1 AND address IS NOT NULL;
