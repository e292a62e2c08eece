-- Rows go back to what was recorded (lib/store/forget.c): what the joins of witness.sql and ras.sql kept of them.

-- statement: restore
INSERT OR REPLACE INTO process SELECT * FROM process_recorded;
INSERT OR REPLACE INTO member SELECT * FROM member_recorded;
INSERT OR REPLACE INTO file_member SELECT * FROM file_member_recorded;
/* records go back */
INSERT OR REPLACE INTO operation_block (/* columns of a block */)
SELECT /* columns of a block */
  FROM operation_recorded WHERE repeated_by <> 0;
DELETE FROM process_recorded;
DELETE FROM member_recorded;
DELETE FROM file_member_recorded;
DELETE FROM operation_recorded WHERE repeated_by <> 0;
DELETE FROM fact WHERE name = 'set_aside';
