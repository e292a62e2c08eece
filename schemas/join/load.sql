-- What lib/join reads of the base tables. Second recorders of a process (witnesses.sql) are left out.

-- With the first file of each process: processes are numbered in the order in which the files were given, whichever was
-- read first.
-- Without the processes that Prometheus text only counts losses of.
-- statement: processes
SELECT process_id, file_set, host, pid, coalesce(first_file, 0)
  FROM process
  LEFT JOIN (SELECT process_id, min(file_id) AS first_file FROM member JOIN file_member USING (member_id) GROUP BY process_id)
       USING (process_id)
 WHERE process_id NOT IN (SELECT process_id FROM witness)
   AND process_id NOT IN (SELECT process_id FROM loss JOIN file ON file_id = loss_id >> 32 WHERE dialect = 'prometheus')
 ORDER BY process_id;

-- statement: communicators
SELECT communicator_id, hash, name, size, (SELECT path FROM file WHERE file_id = unhashed_file_id), member_list, named_hash,
       coalesce(description = 'without NCCL', 0)
  FROM communicator
 WHERE NOT EXISTS (SELECT 1 FROM witness)
    OR communicator_id IN (SELECT communicator_id FROM member WHERE process_id NOT IN (SELECT process_id FROM witness))
 ORDER BY communicator_id;

-- statement: members
SELECT member_id, communicator_id, rank, process_id FROM member
 WHERE process_id NOT IN (SELECT process_id FROM witness) ORDER BY member_id;

-- The greatest peer rank in each member's network traffic: a lower bound of the size of its communicator.
-- statement: greatest_peers
SELECT member_id, max(greatest_peer) FROM file_member WHERE greatest_peer IS NOT NULL GROUP BY member_id;

-- The ranks that processes, or ranks of them, state. Rows that take precedence come first.
-- statement: told_ranks
SELECT process_id, member_id, global_rank, world_size
  FROM process_fact WHERE global_rank IS NOT NULL OR world_size IS NOT NULL ORDER BY process_fact_id;

-- A summary of the blocks of each member.
-- statement: summaries
SELECT member_id, max(greatest_peer), min(clock_distance_ns), sum(operations), sum(tagged),
       min(earliest_ns), max(latest_ns)
  FROM operation_block GROUP BY member_id;

-- statement: tag_marks
SELECT member_id, at_ns, depth, is_end, text FROM tag_mark WHERE process_id = ?1 ORDER BY at_ns, tag_mark_id;

-- The last name of a number comes last.
-- statement: tag_names
SELECT number, text FROM tag_name WHERE process_id = ?1 ORDER BY at_ns, tag_name_id;

-- statement: changed
SELECT process_id FROM changed_process;

-- The steps that an earlier join found, for runs that did not change.
-- statement: earlier_steps
SELECT communicator_id, step_count, step_source, first_step, step_base
  FROM communicator_join JOIN run USING (run_id) ORDER BY communicator_id;

-- The blocks of a member, in order of the time when their first operations were issued.
-- statement: blocks
SELECT block_id, earliest_ns FROM operation_block WHERE member_id = ?1 ORDER BY earliest_ns, block_id;

-- statement: block
SELECT packed FROM operation_block WHERE block_id = ?1;

-- statement: joined_block
SELECT packed FROM operation_join_block WHERE block_id = ?1;

-- Run numbers and names from the previous join.
-- statement: earlier_runs
SELECT process_id, run_id, name FROM process_run LEFT JOIN run USING (run_id) ORDER BY run_id, process_id;
