-- Rows go back to what was recorded (lib/store/recorded.c): what the joins of witness.sql and ras.sql kept of them.

-- statement: restore
INSERT OR REPLACE INTO process SELECT * FROM process_recorded;
INSERT OR REPLACE INTO member SELECT * FROM member_recorded;
INSERT OR REPLACE INTO file_member SELECT * FROM file_member_recorded;
INSERT OR REPLACE INTO loss SELECT * FROM loss_recorded;
INSERT OR REPLACE INTO process_fact SELECT * FROM process_fact_recorded;
INSERT OR REPLACE INTO group_status SELECT * FROM group_status_recorded;
INSERT OR REPLACE INTO start_up SELECT * FROM start_up_recorded;
INSERT OR REPLACE INTO warning SELECT * FROM warning_recorded;
INSERT OR REPLACE INTO registration SELECT * FROM registration_recorded;
INSERT OR REPLACE INTO operation_block
       (block_id, member_id, operations, tagged, earliest_ns, latest_ns, greatest_peer, clock_distance_ns, packed)
SELECT block_id, member_id, operations, tagged, earliest_ns, latest_ns, greatest_peer, clock_distance_ns, packed
  FROM operation_recorded WHERE repeated_by <> 0;
DELETE FROM process_recorded;
DELETE FROM member_recorded;
DELETE FROM file_member_recorded;
DELETE FROM loss_recorded;
DELETE FROM process_fact_recorded;
DELETE FROM group_status_recorded;
DELETE FROM start_up_recorded;
DELETE FROM warning_recorded;
DELETE FROM registration_recorded;
DELETE FROM operation_recorded WHERE repeated_by <> 0;
DELETE FROM fact WHERE name = 'set_aside';
