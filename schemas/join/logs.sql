-- How lib/join prepares Inspector logs that consist of several parts. It runs before all other joins. ?1 is a process
-- unless stated otherwise.

-- statement: processes
SELECT process_id FROM changed_process ORDER BY process_id;

-- Restores blocks as they were recorded.
-- statement: restore
INSERT OR REPLACE INTO operation_block (/* columns of a block */)
SELECT /* columns of a block */
  FROM operation_recorded WHERE member_id IN (SELECT member_id FROM member WHERE process_id = ?1);
-- statement: forget_recorded
DELETE FROM operation_recorded WHERE member_id IN (SELECT member_id FROM member WHERE process_id = ?1);
-- statement: restore_proxies
INSERT OR REPLACE INTO proxy_operation
SELECT * FROM proxy_recorded WHERE member_id IN (SELECT member_id FROM member WHERE process_id = ?1);
-- statement: forget_proxies
DELETE FROM proxy_recorded WHERE member_id IN (SELECT member_id FROM member WHERE process_id = ?1);
-- statement: forget_clock_steps
DELETE FROM clock_step WHERE process_id = ?1;

-- Whether something was corrected of process ?1.
-- statement: is_corrected
SELECT EXISTS (SELECT 1 FROM operation_recorded
                WHERE member_id IN (SELECT member_id FROM member WHERE process_id = ?1))
    OR EXISTS (SELECT 1 FROM proxy_recorded
                WHERE member_id IN (SELECT member_id FROM member WHERE process_id = ?1))
    OR EXISTS (SELECT 1 FROM clock_step WHERE process_id = ?1);

-- statement: files
SELECT DISTINCT file_id, path
  FROM member CROSS JOIN file_member USING (member_id) CROSS JOIN file USING (file_id)
 WHERE process_id = ?1 AND dialect GLOB 'inspector*' ORDER BY file_id;
-- statement: members
SELECT DISTINCT member_id, communicator_id
  FROM member CROSS JOIN file_member USING (member_id) CROSS JOIN file USING (file_id)
 WHERE process_id = ?1 AND dialect GLOB 'inspector*' ORDER BY member_id;
-- statement: blocks
-- The blocks of member ?1.
SELECT block_id FROM operation_block
 WHERE member_id = ?1 AND (SELECT dialect GLOB 'inspector*' FROM file WHERE file_id = block_id >> 32) ORDER BY block_id;
-- statement: block
SELECT packed FROM operation_block WHERE block_id = ?1;

-- statement: keep_recorded
-- Saves block ?1 before it is replaced.
INSERT OR IGNORE INTO operation_recorded (/* columns of a block */, doubles)
SELECT /* columns of a block */, 0
  FROM operation_block WHERE block_id = ?1;
-- statement: tell_doubles
UPDATE operation_recorded SET doubles = ?2, first_double = ?3 WHERE block_id = ?1;
-- statement: replace_block
UPDATE operation_block
   SET operations = ?2, tagged = ?3, earliest_ns = ?4, latest_ns = ?5, greatest_peer = ?6, clock_distance_ns = ?7, packed = ?8
 WHERE block_id = ?1;
-- statement: remove_block
DELETE FROM operation_block WHERE block_id = ?1;

-- Also removes the network traffic of operations of file ?1 that were left out.
-- statement: keep_proxies
INSERT INTO proxy_recorded
SELECT * FROM proxy_operation
 WHERE proxy_operation_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295 AND operation_id IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM operation WHERE operation.operation_id = proxy_operation.operation_id);
-- statement: remove_proxies
DELETE FROM proxy_operation
 WHERE proxy_operation_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295
   AND proxy_operation_id IN (SELECT proxy_operation_id FROM proxy_recorded);

-- statement: next_file
SELECT max(file_id) + 1 FROM file;
-- Changes the id of file ?1 to ?2 in tables other than the record tables and those of the file itself
-- (lib/store/record_tables.c).
-- statement: renumber_unhashed
UPDATE communicator SET unhashed_file_id = ?2 WHERE unhashed_file_id = ?1;
-- statement: renumber_clock_steps
UPDATE clock_step SET operation_id = operation_id + ((?2 - ?1) << 32)
 WHERE operation_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295;

-- statement: witnesses
-- Other members of the communicator of member ?1; those on other hosts come first.
SELECT other.member_id
  FROM member m
  JOIN process p ON p.process_id = m.process_id
  JOIN member other ON other.communicator_id = m.communicator_id AND other.process_id <> m.process_id
  JOIN process q ON q.process_id = other.process_id
 WHERE m.member_id = ?1
 ORDER BY q.host = p.host, other.rank, other.member_id
 LIMIT 8;

-- statement: add_clock_step
INSERT INTO clock_step (process_id, ordinal, before_ns, step_ns, is_measured, operation_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- statement: same_process
-- A process found in two directories: same host, pid, communicator and rank. Only if everything known about it comes
-- from Inspector logs, which use the clock of the host.
WITH several AS (
    SELECT communicator_id, rank FROM member GROUP BY communicator_id, rank HAVING count(*) > 1
), found AS (
    SELECT process_id AS other,
           first_value(process_id) OVER (PARTITION BY communicator_id, rank, host, pid, started_ns ORDER BY file_set) AS first
      FROM several
      JOIN communicator USING (communicator_id)
      JOIN member USING (communicator_id, rank)
      JOIN process USING (process_id)
     WHERE hash <> 0 AND host <> '' AND pid >= 0
)
SELECT first, other FROM found
 WHERE first <> other
   AND NOT EXISTS (SELECT 1 FROM member JOIN file_member USING (member_id) JOIN file USING (file_id)
                    WHERE process_id IN (first, other) AND dialect NOT GLOB 'inspector*')
 LIMIT 1;

-- Merges process ?2 into process ?1; its records are moved by lib/store/record_tables.c.
-- statement: unite_members
INSERT OR IGNORE INTO member (communicator_id, rank, process_id)
SELECT communicator_id, rank, ?1 FROM member WHERE process_id = ?2;
-- statement: united
-- The members of process ?2, each with the corresponding member of ?1.
SELECT old.member_id, new.member_id
  FROM member old JOIN member new ON new.communicator_id = old.communicator_id AND new.rank = old.rank
 WHERE old.process_id = ?2 AND new.process_id = ?1;
-- statement: unite_changes
INSERT OR IGNORE INTO changed_process (process_id) SELECT ?1 FROM process WHERE process_id = ?2;
-- statement: forget_changes
DELETE FROM changed_process WHERE process_id = ?2;
-- statement: forget_clock
DELETE FROM clock_step WHERE process_id = ?2;
-- statement: forget_process
DELETE FROM process WHERE process_id = ?2;

-- Merges member ?2 into member ?1 in the same way.
-- statement: move_files
INSERT OR IGNORE INTO file_member (file_id, member_id, greatest_peer)
SELECT file_id, ?1, greatest_peer FROM file_member WHERE member_id = ?2;
-- statement: forget_files
DELETE FROM file_member WHERE member_id = ?2;
-- statement: forget_joined
DELETE FROM member_join WHERE member_id = ?2;
-- statement: forget_member
DELETE FROM member WHERE member_id = ?2;
