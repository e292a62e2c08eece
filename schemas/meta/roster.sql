-- Runs, ranks, communicators and members (lib/store/roster.c). ?1 is a run; NULL: all runs.

-- statement: runs
SELECT run_id, expected_ranks, step_count, step_source, global_ranks, name, first_step, step_base
  FROM run
 WHERE run_id BETWEEN ifnull(?1, -9223372036854775808) AND ifnull(?1, 9223372036854775807) ORDER BY run_id;

-- statement: ranks
SELECT job_rank_id, run_id, process_id, global_rank, name
  FROM job_rank
 WHERE run_id BETWEEN ifnull(?1, -9223372036854775808) AND ifnull(?1, 9223372036854775807)
 ORDER BY run_id, global_rank IS NULL, global_rank, name, job_rank_id;

-- statement: communicators
SELECT communicator_id, run_id, communicator_join.size, size_is_known, hash, label, communicator.member_list, node_count
  FROM communicator_join CROSS JOIN communicator USING (communicator_id)
 WHERE run_id BETWEEN ifnull(?1, -9223372036854775808) AND ifnull(?1, 9223372036854775807) ORDER BY communicator_id;

-- statement: members
SELECT member_id, member.communicator_id, member.rank, job_rank_id
  FROM job_rank CROSS JOIN member_join USING (job_rank_id) CROSS JOIN member USING (member_id)
 WHERE run_id BETWEEN ifnull(?1, -9223372036854775808) AND ifnull(?1, 9223372036854775807)
 ORDER BY member.communicator_id, member.rank, member_id;

-- Facts about the process of each rank, one row for each file with facts. Facts about the rank itself come first. For
-- the GPU, call descriptions take precedence: they name the physical device, whatever number it has in its process.
-- statement: facts
SELECT job_rank_id, nullif(process.host, ''), process_fact.host, local_rank, coalesce(call_place.device, gpu), gpu_bus_id,
       coalesce(call_place.gpu_serial, process_fact.gpu_serial), nic, rank_name, vm
  FROM job_rank
 CROSS JOIN process USING (process_id)
  LEFT JOIN process_fact USING (process_id)
  LEFT JOIN call_place USING (job_rank_id)
 WHERE job_rank.run_id BETWEEN ifnull(?1, -9223372036854775808) AND ifnull(?1, 9223372036854775807)
   AND (member_id IS NULL
        OR EXISTS (SELECT 1 FROM member_join
                    WHERE member_join.member_id = process_fact.member_id AND member_join.job_rank_id = job_rank.job_rank_id))
 ORDER BY job_rank_id, member_id IS NULL, process_fact_id;

-- The same facts from other recorders (schemas/join/witnesses.sql), for use where the rank's own recorder has none.
-- statement: witness_facts
SELECT job_rank_id, nullif(process.host, ''), process_fact.host, local_rank, gpu, gpu_bus_id, gpu_serial, nic, rank_name
  FROM job_rank
 CROSS JOIN witness ON as_process_id = job_rank.process_id
 CROSS JOIN process ON process.process_id = witness.process_id
  LEFT JOIN process_fact ON process_fact.process_id = witness.process_id
 WHERE run_id BETWEEN ifnull(?1, -9223372036854775808) AND ifnull(?1, 9223372036854775807)
 ORDER BY job_rank_id, process_fact_id;
