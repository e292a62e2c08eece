-- What NCCL's log tells of a run beside its calls (lib/job/start_ups.c). ?1 is the run.

-- How ranks came into communicators. Of several logs that tell of one the first counts.
-- statement: start_ups
SELECT min(start_up_id), member_id, function, parent_hash,
       (SELECT communicator_id FROM communicator WHERE hash = parent_hash LIMIT 1), begin_ns, end_ns, is_complete, total_ns, kernels_ns, allocation_ns, bootstrap_ns, allgathers_ns, topology_ns, graphs_ns,
       connections_ns, rest_ns
  FROM job_rank
 CROSS JOIN member_join USING (job_rank_id)
 CROSS JOIN start_up USING (member_id)
 WHERE run_id = ?1
 GROUP BY member_id
 ORDER BY 1;

-- What processes of the run warned of, alike ones together: the first of them, how many, and until when. A process may have
-- several ranks.
-- statement: warnings
SELECT job_rank_id, kind, warning.gpu, status, nic, peer, min(warning_id), count(*), min(at_ns), max(at_ns)
  FROM (SELECT DISTINCT job_rank_id, member.process_id
          FROM job_rank CROSS JOIN member_join USING (job_rank_id) CROSS JOIN member USING (member_id) WHERE run_id = ?1) AS of_run
 CROSS JOIN warning USING (process_id)
 GROUP BY job_rank_id, kind, warning.gpu, status, nic, peer
 ORDER BY 7;

-- At which addresses the hosts of ranks are reached.
-- statement: addresses
SELECT DISTINCT job_rank_id, address
  FROM job_rank CROSS JOIN member_join USING (job_rank_id) CROSS JOIN member USING (member_id)
 CROSS JOIN process_fact ON process_fact.process_id = member.process_id
 WHERE run_id = ?1 AND address IS NOT NULL;
