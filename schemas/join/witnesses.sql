-- Jobs with several recorders (lib/join/recorders.c). Table witness contains processes whose operations another
-- recorder also recorded.

-- If files were added or removed, all recorders of the job are joined again, at first each by itself.
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

-- The recorders of each process.
-- statement: dialects
SELECT DISTINCT member.process_id, file.dialect
  FROM member JOIN file_member USING (member_id) JOIN file USING (file_id)
 ORDER BY member.process_id, file.dialect;

-- Processes whose recorder noted kernel times that belong to other operations (ncclprof-formats(5)), how many of their
-- operations have no kernel times, and their collectives.
-- statement: misattributed
SELECT member.process_id, count(*) FILTER (WHERE end_source <> 1), count(*) FILTER (WHERE kind <> 1)
  FROM operation JOIN member USING (member_id)
 WHERE process_id IN (SELECT process_id FROM ledger JOIN file_member USING (file_id) JOIN member USING (member_id)
                       WHERE reason IN ('kernel channel of another operation',
                                        'kernel channel of another operation after a Broadcast'))
 GROUP BY member.process_id;

-- statement: moments
-- Clock anchors of process ?1: its own clock and the wall clock.
SELECT local_ns, realtime_ns FROM clock_anchor WHERE process_id = ?1 AND realtime_ns IS NOT NULL ORDER BY local_ns;

-- Records process ?1 as a second recording of process ?2, or of the process that ?2 itself repeats. Its operations are
-- removed, and restored when its recorders are joined again.
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
-- Its job is joined again.
INSERT OR IGNORE INTO changed_process (process_id) VALUES (?1);

-- statement: contradict
INSERT OR REPLACE INTO witness_contradiction (process_id, what, count, kept, other) VALUES (?1, ?2, ?3, ?4, ?5);

-- statement: doubt
INSERT OR REPLACE INTO witness_doubt (process_id, other_process_id, why) VALUES (?1, ?2, ?3);

-- A second recording belongs to the run of the process that it repeats.
-- statement: runs
INSERT OR REPLACE INTO process_run (process_id, run_id)
SELECT witness.process_id, process_run.run_id FROM witness JOIN process_run ON process_run.process_id = witness.as_process_id;

-- The directories of second recordings, by the process that they repeat.
-- statement: folders
SELECT as_process_id, process.file_set FROM witness JOIN process ON process.process_id = witness.process_id;

-- The number of collectives that process ?1 reports for each group.
-- statement: statuses
SELECT name, max(enqueued) FROM group_status WHERE process_id = ?1 AND enqueued IS NOT NULL GROUP BY name;

-- What only a log contains about process ?1 and its calls: communicators still being created at its end, and registered
-- memory.
-- statement: alone_told
SELECT (SELECT count(*) FROM start_up WHERE process_id = ?1 AND NOT is_complete) +
       (SELECT count(*) FROM registration WHERE process_id = ?1 AND kind = 0);
