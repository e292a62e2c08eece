-- Who is who (lib/store/roster.c). ?1 is a run, or NULL for all of them.

-- statement: runs
SELECT run_id, expected_ranks, step_count, step_source, global_ranks
  FROM run
 WHERE run_id BETWEEN ifnull(?1, -9223372036854775808) AND ifnull(?1, 9223372036854775807) ORDER BY run_id;

-- statement: ranks
SELECT job_rank_id, run_id, process_id, global_rank, name
  FROM job_rank
 WHERE run_id BETWEEN ifnull(?1, -9223372036854775808) AND ifnull(?1, 9223372036854775807)
 ORDER BY run_id, global_rank IS NULL, global_rank, name, job_rank_id;

-- statement: communicators
SELECT communicator_id, run_id, communicator_join.size, size_is_known, hash, label
  FROM communicator_join CROSS JOIN communicator USING (communicator_id)
 WHERE run_id BETWEEN ifnull(?1, -9223372036854775808) AND ifnull(?1, 9223372036854775807) ORDER BY communicator_id;

-- statement: members
SELECT member_id, member.communicator_id, member.rank, job_rank_id
  FROM job_rank CROSS JOIN member_join USING (job_rank_id) CROSS JOIN member USING (member_id)
 WHERE run_id BETWEEN ifnull(?1, -9223372036854775808) AND ifnull(?1, 9223372036854775807)
 ORDER BY member.communicator_id, member.rank, member_id;
