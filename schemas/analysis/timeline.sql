-- Queries of `ncclprof timeline`.

-- Proxy operations of a run, in the order of its files, so that nothing needs to be sorted.
-- statement: proxies
SELECT operation_id, direction, channel, peer, coalesce(progress_begin_ns, schedule_begin_ns), progress_end_ns,
       continued, step_count, transferred_bytes, steps, progress_begin_ns, file_id
  FROM file
 CROSS JOIN proxy_operation ON proxy_operation_id BETWEEN file_id << 32 AND (file_id << 32) + 4294967295
 WHERE operation_id IS NOT NULL
   AND file_id IN (SELECT file_id FROM job_rank CROSS JOIN member_join USING (job_rank_id)
                    CROSS JOIN file_member USING (member_id) WHERE run_id = ?1)
 ORDER BY file_id, proxy_operation_id;
