-- Clock data of a run's ranks. ?1 is the run.

-- The first clock anchor of each rank that recorded something.
-- statement: ranks
SELECT job_rank_id,
       (SELECT boot_id FROM clock_anchor WHERE clock_anchor.process_id = job_rank.process_id
                                           AND monotonic_ns IS NOT NULL ORDER BY clock_anchor_id LIMIT 1),
       (SELECT monotonic_ns - local_ns FROM clock_anchor WHERE clock_anchor.process_id = job_rank.process_id
                                           AND monotonic_ns IS NOT NULL ORDER BY clock_anchor_id LIMIT 1)
  FROM job_rank WHERE run_id = ?1 AND process_id IS NOT NULL;
