-- Queries of `ncclprof report` besides packed blocks. ?1 is a run; NULL: all runs.

-- statement: unhashed
SELECT count(*) FROM communicator JOIN communicator_join USING (communicator_id)
 WHERE hash = 0 AND (?1 IS NULL OR run_id = ?1);

-- The source lines from which operations were called, from call descriptions.
-- statement: sources
SELECT operation_id, source FROM call_join CROSS JOIN call_description USING (call_description_id)
 WHERE run_id BETWEEN ifnull(?1, -9223372036854775808) AND ifnull(?1, 9223372036854775807)
   AND operation_id IS NOT NULL AND source IS NOT NULL ORDER BY call_description_id;

-- Descriptions of calls.
-- statement: description_count
SELECT count(*) FROM call_description;

-- statement: descriptions
SELECT rank, name, source, message_bytes, device, gpu_serial, vm, peer_rank, group_ranks
  FROM call_description ORDER BY call_description_id;

-- Averages from Prometheus text, their jobs, and the operations that are missing in them.
-- statement: sample_count
SELECT count(*), count(DISTINCT job),
       (SELECT coalesce(sum(events), 0)
          FROM (SELECT max(loss.events) AS events
                  FROM loss JOIN file ON file_id = loss_id >> 32
                 WHERE dialect = 'prometheus' GROUP BY process_id, what))
  FROM sample;

-- Averages from Prometheus text.
-- statement: samples
SELECT strftime('%Y-%m-%dT%H:%M:%fZ', at_ns / 1e9, 'unixepoch'), node, gpu, communicator, node_count, rank_count, function,
       least_bytes, algorithm, protocol, busbw_gbs, duration_ns, tag
  FROM sample ORDER BY sample_id;
