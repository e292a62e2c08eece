-- Queries of `ncclprof stalls`.

-- In the order of the files: the rows of an operation are adjacent, so nothing needs to be sorted.
-- statement: steps
SELECT proxy_operation.operation_id, proxy_operation.member_id, direction, channel, proxy_operation.peer,
       progress_begin_ns, steps, operation_join.step, operation_join.tag, operation.function, operation.bytes
  FROM proxy_operation
  LEFT JOIN operation ON operation.operation_id = proxy_operation.operation_id
  LEFT JOIN operation_join ON operation_join.operation_id = proxy_operation.operation_id
 ORDER BY proxy_operation_id;

-- Proxy operations that never ended. Of one with several records only the last record could have an end.
-- statement: unfinished
SELECT p.member_id, p.direction, p.channel, p.peer, p.step_count, p.progress_begin_ns, p.states, p.steps,
       operation_join.step, operation_join.tag, operation.function, operation.sequence, p.progress_end_ns
  FROM proxy_operation p
  LEFT JOIN operation ON operation.operation_id = p.operation_id
  LEFT JOIN operation_join ON operation_join.operation_id = p.operation_id
 WHERE (p.progress_end_ns IS NULL OR p.states IS NOT NULL)
   AND NOT EXISTS (SELECT 1 FROM proxy_operation next
                    WHERE next.proxy_operation_id = p.proxy_operation_id + 1 AND next.continued = 1)
 ORDER BY p.proxy_operation_id;
