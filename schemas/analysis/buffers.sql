-- Queries of `ncclprof buffers` and `report --by registered`, besides operations. ?1 is a run; NULL: all runs.

-- Registrations of the run's processes in NCCL's logs, in order.
-- statement: registrations
SELECT member_id, registration_id, kind, address, bytes, function, number, calls, process_id
  FROM registration
 WHERE process_id IN (SELECT process_id FROM job_rank
                       WHERE run_id BETWEEN ifnull(?1, -9223372036854775808) AND ifnull(?1, 9223372036854775807))
 ORDER BY registration_id;

-- Allocator snapshots. They name no process, so those of all runs are read. In each file the row of the snapshot itself
-- comes first.
-- statement: snapshots
SELECT registration_id, kind, address, registration.bytes, global_rank, from_ns, to_ns, path
  FROM registration JOIN file ON file_id = registration_id >> 32
 WHERE process_id IS NULL
 ORDER BY registration_id;

-- The directory with the traces of each rank in the store.
-- statement: places
SELECT job_rank_id, global_rank, file_set FROM job_rank JOIN process USING (process_id)
 WHERE global_rank IS NOT NULL ORDER BY global_rank, job_rank_id;

-- The offset from the clock of a rank's process to the wall clock.
-- statement: clocks
SELECT job_rank_id, realtime_ns - local_ns
  FROM job_rank CROSS JOIN clock_anchor USING (process_id)
 WHERE run_id BETWEEN ifnull(?1, -9223372036854775808) AND ifnull(?1, 9223372036854775807) AND realtime_ns IS NOT NULL
 ORDER BY job_rank_id, clock_anchor_id;
