-- What lib/join writes: small derived tables as a whole, large ones only for runs that changed.

-- statement: clear
DELETE FROM communicator_join;
DELETE FROM member_join;
DELETE FROM job_rank;
DELETE FROM run;
DELETE FROM contradiction;
DELETE FROM process_run;
DELETE FROM changed_process;

-- All jobs are joined again, because the existing rows were made by older rules.
-- statement: all_changed
INSERT OR IGNORE INTO changed_process (process_id) SELECT process_id FROM process;

-- statement: run
INSERT INTO run (run_id, rank_count, expected_ranks, step_count, step_source, global_ranks, name, first_step, step_base)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- statement: process
INSERT INTO process_run (process_id, run_id) VALUES (?1, ?2);

-- statement: job_rank
INSERT INTO job_rank (job_rank_id, run_id, process_id, global_rank, name) VALUES (?1, ?2, ?3, ?4, ?5);

-- statement: member
INSERT INTO member_join (member_id, job_rank_id) VALUES (?1, ?2);

-- statement: communicator
INSERT INTO communicator_join (communicator_id, run_id, size, size_is_known, label) VALUES (?1, ?2, ?3, ?4, ?5);

-- statement: clear_instances
DELETE FROM instance_block WHERE block_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295;

-- statement: clear_unequal
DELETE FROM unequal_pair WHERE communicator_id = ?1;

-- statement: unequal
INSERT INTO unequal_pair (communicator_id, pairs, sender, receiver, sequence, sent_bytes, received_bytes)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- statement: instances
INSERT INTO instance_block (block_id, communicator_id, packed) VALUES (?1, ?2, ?3);

-- statement: joined_block
INSERT OR REPLACE INTO operation_join_block (block_id, packed) VALUES (?1, ?2);

-- Of several contradictions of one kind the first is shown.
-- statement: contradiction
INSERT OR IGNORE INTO contradiction (process_id, what, kept, other) VALUES (?1, ?2, ?3, ?4);
