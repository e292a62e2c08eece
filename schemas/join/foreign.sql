-- Proxy operations that a process makes for another one of its host (PXN): which operation they belong to. The reader
-- notes files with such records; their column `states` begins with the process and rank (lib/model/pack.c).

-- statement: is_there
SELECT 1 FROM ledger WHERE reason = 'proxy operations for other processes' LIMIT 1;

-- What an earlier join set, as files may have changed since.
-- statement: clear
UPDATE proxy_operation SET operation_id = NULL, member_id = NULL
 WHERE proxy_operation_id IN (
    SELECT proxy_operation_id
      FROM ledger
     CROSS JOIN proxy_operation ON proxy_operation_id BETWEEN file_id << 32 AND (file_id << 32) + 4294967295
     WHERE reason = 'proxy operations for other processes' AND substr(states, 1, 1) = x'05');

-- By file, with the clock of the process that made them.
-- statement: proxies
SELECT proxy_operation_id, direction, channel, peer, coalesce(schedule_begin_ns, progress_begin_ns),
       coalesce(progress_begin_ns, 0), states, file_set, host, boot_id, monotonic_ns - local_ns
  FROM ledger
 CROSS JOIN proxy_operation ON proxy_operation_id BETWEEN file_id << 32 AND (file_id << 32) + 4294967295
  JOIN clock_anchor ON clock_anchor_id = (SELECT min(clock_anchor_id) FROM clock_anchor
                                           WHERE clock_anchor_id BETWEEN file_id << 32 AND (file_id << 32) + 4294967295
                                             AND monotonic_ns IS NOT NULL)
  JOIN process USING (process_id)
 WHERE reason = 'proxy operations for other processes' AND substr(states, 1, 1) = x'05'
   AND coalesce(schedule_begin_ns, progress_begin_ns) IS NOT NULL;

-- The places of rank ?4 in the processes with PID ?3 on host ?2 that share the clock ?5, each with its own clock. A
-- communicator of one node has no proxy operations.
-- statement: members
SELECT member_id, monotonic_ns - local_ns, coalesce(size, 0)
  FROM process JOIN member USING (process_id) JOIN communicator USING (communicator_id)
  JOIN clock_anchor ON clock_anchor_id = (SELECT min(clock_anchor_id) FROM clock_anchor
                                           WHERE clock_anchor.process_id = process.process_id AND monotonic_ns IS NOT NULL)
 WHERE file_set = ?1 AND host = ?2 AND pid = ?3 AND rank = ?4 AND boot_id = ?5 AND node_count IS NOT 1
 ORDER BY member_id;

-- statement: operations
SELECT operation_id, function, peer, coalesce(channel_count, 0), coalesce(enqueue_begin_ns, api_begin_ns), device_end_ns
  FROM operation
 WHERE member_id = ?1 AND coalesce(enqueue_begin_ns, api_begin_ns) IS NOT NULL
   AND coalesce(peer, 0) BETWEEN 0 AND 2147483647;

-- statement: place
UPDATE proxy_operation SET operation_id = ?2, member_id = ?3 WHERE proxy_operation_id = ?1;
