-- What is known of the clocks of a run's ranks. ?1 is the run.

-- Host and first anchor of every rank that recorded something.
-- statement: ranks
SELECT job_rank_id, process.host,
       (SELECT boot_id FROM clock_anchor WHERE clock_anchor.process_id = job_rank.process_id
                                           AND monotonic_ns IS NOT NULL ORDER BY clock_anchor_id LIMIT 1),
       (SELECT monotonic_ns - local_ns FROM clock_anchor WHERE clock_anchor.process_id = job_rank.process_id
                                           AND monotonic_ns IS NOT NULL ORDER BY clock_anchor_id LIMIT 1)
  FROM job_rank JOIN process USING (process_id) WHERE run_id = ?1;
