-- What report reads besides packed blocks. ?1 is a run, or NULL for all of them.

-- statement: communicators
SELECT communicator_id, run_id, size, label FROM communicator_join WHERE ?1 IS NULL OR run_id = ?1;

-- statement: members
SELECT member_id, name, global_rank
  FROM member_join JOIN job_rank USING (job_rank_id) WHERE ?1 IS NULL OR run_id = ?1;

-- statement: unhashed
SELECT count(*) FROM communicator JOIN communicator_join USING (communicator_id)
 WHERE hash = 0 AND (?1 IS NULL OR run_id = ?1);
