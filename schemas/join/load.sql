-- What lib/join reads of the base tables.

-- statement: processes
SELECT process_id, file_set, host, pid FROM process ORDER BY process_id;

-- statement: communicators
SELECT communicator_id, hash, name, size FROM communicator ORDER BY communicator_id;

-- statement: members
SELECT member_id, communicator_id, rank, process_id FROM member ORDER BY member_id;

-- The greatest rank that a communicator's records name as a peer: a lower bound of its size.
-- statement: greatest_peers
SELECT communicator_id, max(peer) FROM (
    SELECT member.communicator_id AS communicator_id, operation.peer AS peer
      FROM operation JOIN member USING (member_id) WHERE operation.kind = 1 AND operation.peer IS NOT NULL
    UNION ALL
    SELECT member.communicator_id, proxy_operation.peer
      FROM proxy_operation JOIN member USING (member_id)
) GROUP BY communicator_id;

-- An operation counts as issued when its call began, or as soon as the record says.
-- statement: operations
SELECT operation_id, member_id, kind, function, sequence, bytes, peer,
       coalesce(api_begin_ns, enqueue_begin_ns, device_begin_ns, device_end_ns),
       coalesce(duration_ns, device_end_ns - device_begin_ns),
       tag
  FROM operation ORDER BY operation_id;

-- statement: tag_marks
SELECT process_id, member_id, at_ns, depth, is_end, text FROM tag_mark ORDER BY at_ns, tag_mark_id;

-- Host clock minus GPU clock, at the operation whose start the host noticed soonest: the same in all files of one
-- process on one GPU, and by accident only in two.
-- statement: affinities
SELECT member_id, min(device_begin_ns - gpu_begin) FROM operation
 WHERE device_begin_ns IS NOT NULL AND gpu_begin IS NOT NULL AND gpu_begin <> 0 GROUP BY member_id;
