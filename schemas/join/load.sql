-- What lib/join reads of the base tables.

-- statement: processes
SELECT process_id, file_set, host, pid FROM process ORDER BY process_id;

-- statement: communicators
SELECT communicator_id, hash, name, size FROM communicator ORDER BY communicator_id;

-- statement: members
SELECT member_id, communicator_id, rank, process_id FROM member ORDER BY member_id;

-- The greatest rank that each member's network traffic names as a peer: a lower bound of its communicator's size.
-- statement: greatest_peers
SELECT member_id, max(peer) FROM proxy_operation WHERE member_id IS NOT NULL GROUP BY member_id;

-- An operation counts as issued when its call began, or as soon as the record says.
-- statement: operations
SELECT operation_id, member_id, kind, function, sequence, bytes, peer,
       coalesce(api_begin_ns, enqueue_begin_ns, device_begin_ns, device_end_ns),
       coalesce(duration_ns, device_end_ns - device_begin_ns),
       tag, device_begin_ns, gpu_begin
  FROM operation ORDER BY operation_id;

-- statement: tag_marks
SELECT process_id, member_id, at_ns, depth, is_end, text FROM tag_mark ORDER BY at_ns, tag_mark_id;
