-- What steps --map reads beside the job.

-- statement: hosts
-- Of the ranks of run ?1, in the order in which a roster has them.
SELECT job_rank_id, host
  FROM job_rank LEFT JOIN process USING (process_id)
 WHERE run_id = ?1
 ORDER BY global_rank IS NULL, global_rank, name, job_rank_id;
