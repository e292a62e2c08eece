-- Restores the rows that the joins of schemas/join/witness.sql and schemas/join/ras.sql removed or changed
-- (lib/store/forget.c).

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
