-- One job by several recorders (lib/join/recorders.c). A witness is a process whose operations another recorder tells, too.

-- Where files came or went, all recorders of the job are heard anew, each by itself first.
-- statement: hear_anew
INSERT OR IGNORE INTO changed_process (process_id)
SELECT other.process_id
  FROM changed_process
  JOIN process_run USING (process_id)
  JOIN process_run AS other ON other.run_id = process_run.run_id
  JOIN process ON process.process_id = other.process_id
 WHERE EXISTS (SELECT 1 FROM process_run AS any JOIN witness ON witness.process_id = any.process_id
                WHERE any.run_id = process_run.run_id);
DELETE FROM witness_member
 WHERE member_id IN (SELECT member_id FROM member JOIN changed_process USING (process_id))
    OR member_id NOT IN (SELECT member_id FROM member) OR as_member_id NOT IN (SELECT member_id FROM member);
DELETE FROM witness_contradiction
 WHERE process_id IN (SELECT process_id FROM changed_process) OR process_id NOT IN (SELECT process_id FROM process);
DELETE FROM witness
 WHERE process_id IN (SELECT process_id FROM changed_process) OR process_id NOT IN (SELECT process_id FROM process)
    OR as_process_id NOT IN (SELECT process_id FROM process);
DELETE FROM witness_doubt
 WHERE process_id IN (SELECT process_id FROM changed_process) OR other_process_id IN (SELECT process_id FROM changed_process)
    OR process_id NOT IN (SELECT process_id FROM process) OR other_process_id NOT IN (SELECT process_id FROM process);

-- Which recorders tell of each process.
-- statement: dialects
SELECT DISTINCT member.process_id, file.dialect
  FROM member JOIN file_member USING (member_id) JOIN file USING (file_id)
 ORDER BY member.process_id, file.dialect;

-- statement: moments
-- Of process ?1, on its own clock and on the wall clock.
SELECT local_ns, realtime_ns FROM clock_anchor WHERE process_id = ?1 AND realtime_ns IS NOT NULL ORDER BY local_ns;

-- Process ?1 is a witness of process ?2, or of the one that this is a witness of: its operations leave, and come back when
-- it is heard anew.
-- statement: add
INSERT OR REPLACE INTO witness (process_id, as_process_id)
VALUES (?1, coalesce((SELECT as_process_id FROM witness WHERE process_id = ?2), ?2));
-- statement: add_member
INSERT OR REPLACE INTO witness_member (member_id, as_member_id)
VALUES (?1, coalesce((SELECT as_member_id FROM witness_member WHERE member_id = ?2), ?2));
-- statement: keep_recorded
INSERT OR IGNORE INTO operation_recorded (/* columns of a block */, doubles)
SELECT /* columns of a block */, 0
  FROM operation_block WHERE member_id IN (SELECT member_id FROM member WHERE process_id = ?1);
-- statement: count_recorded
UPDATE operation_recorded SET doubles = operations, first_double = coalesce(first_double, 0)
 WHERE member_id IN (SELECT member_id FROM member WHERE process_id = ?1);
-- statement: remove_joined
DELETE FROM operation_join_block
 WHERE block_id IN (SELECT block_id FROM operation_block
                     WHERE member_id IN (SELECT member_id FROM member WHERE process_id = ?1));
-- statement: remove_operations
DELETE FROM operation_block WHERE member_id IN (SELECT member_id FROM member WHERE process_id = ?1);
-- statement: keep_proxies
INSERT OR IGNORE INTO proxy_recorded
SELECT * FROM proxy_operation WHERE member_id IN (SELECT member_id FROM member WHERE process_id = ?1);
-- statement: remove_proxies
DELETE FROM proxy_operation WHERE member_id IN (SELECT member_id FROM member WHERE process_id = ?1);
-- statement: remove_instances
DELETE FROM instance_block
 WHERE communicator_id IN (SELECT communicator_id FROM member WHERE process_id = ?1)
   AND NOT EXISTS (SELECT 1 FROM operation_block JOIN member USING (member_id)
                    WHERE member.communicator_id = instance_block.communicator_id);

-- statement: change
-- Its job is joined anew.
INSERT OR IGNORE INTO changed_process (process_id) VALUES (?1);

-- statement: contradict
INSERT OR REPLACE INTO witness_contradiction (process_id, what, count, kept, other) VALUES (?1, ?2, ?3, ?4, ?5);

-- statement: doubt
INSERT OR REPLACE INTO witness_doubt (process_id, other_process_id, why) VALUES (?1, ?2, ?3);

-- Witnesses are of the run of whom they tell.
-- statement: runs
INSERT OR REPLACE INTO process_run (process_id, run_id)
SELECT witness.process_id, process_run.run_id FROM witness JOIN process_run ON process_run.process_id = witness.as_process_id;

-- Where the files of witnesses lie, by whom they tell of.
-- statement: folders
SELECT as_process_id, process.file_set FROM witness JOIN process ON process.process_id = witness.process_id;

-- How many collectives process ?1 says that it called on each group.
-- statement: statuses
SELECT name, max(enqueued) FROM group_status WHERE process_id = ?1 AND enqueued IS NOT NULL GROUP BY name;

-- What a log alone tells of process ?1, and of single calls: communicators that were still being made as it ends, and memory
-- that was registered.
-- statement: alone_told
SELECT (SELECT count(*) FROM start_up WHERE process_id = ?1 AND NOT is_complete) +
       (SELECT count(*) FROM registration WHERE process_id = ?1 AND kind = 0);
