-- If there are several dumps of NCCL's RAS, the newest determines which calls were made. Calls that an older dump
-- listed for the same member are removed and counted in v_ledger; their rows are saved as recorded
-- (schemas/ingest/recorded.sql). A dump whose counts are all 0 contains no information and removes nothing. The
-- progress of ranks in older dumps stays (group_status), because it shows whether the job hangs.

-- statement: is_there
-- One row if there is a RAS dump.
SELECT 1 FROM file WHERE dialect = 'nccl-ras' LIMIT 1;

-- statement: choose
CREATE TEMP TABLE older_dump (file_id INTEGER, member_id INTEGER, PRIMARY KEY (file_id, member_id)) WITHOUT ROWID;
INSERT INTO older_dump
SELECT group_status_id >> 32 AS file_id, member_id
  FROM (SELECT group_status_id, member_id,
               row_number() OVER (PARTITION BY member_id ORDER BY at_ns DESC, group_status_id DESC) AS back
          FROM group_status JOIN file ON file_id = group_status_id >> 32
         WHERE dialect = 'nccl-ras' AND enqueued IS NOT NULL)
 GROUP BY file_id, member_id HAVING min(back) > 1;

CREATE TEMP TABLE older_block AS
SELECT block_id
  FROM (SELECT DISTINCT file_id FROM older_dump) AS dump
 CROSS JOIN operation_block ON block_id BETWEEN dump.file_id << 32 AND (dump.file_id << 32) + 4294967295
 WHERE EXISTS (SELECT 1 FROM older_dump
                WHERE older_dump.file_id = dump.file_id AND older_dump.member_id = operation_block.member_id);

INSERT OR REPLACE INTO operation_recorded (/* columns of a block */, doubles, repeated_by)
SELECT /* columns of a block */, 0, 2
  FROM older_block JOIN operation_block USING (block_id);
INSERT OR REPLACE INTO fact (name, value) SELECT 'set_aside', 1 FROM older_block LIMIT 1;
DELETE FROM operation_join_block WHERE block_id IN (SELECT block_id FROM older_block);
DELETE FROM operation_block WHERE block_id IN (SELECT block_id FROM older_block);

-- A process that answered RAS later is no longer reported as not answering.
INSERT OR IGNORE INTO warning_recorded
SELECT * FROM warning
 WHERE kind IN (4, 5)
   AND EXISTS (SELECT 1 FROM group_status
                WHERE group_status.process_id = warning.process_id AND group_status.at_ns > warning.at_ns
                  AND (SELECT dialect FROM file WHERE file_id = group_status_id >> 32) = 'nccl-ras');
INSERT OR REPLACE INTO fact (name, value) SELECT 'set_aside', 1 FROM warning_recorded LIMIT 1;
DELETE FROM warning WHERE warning_id IN (SELECT warning_id FROM warning_recorded);

DROP TABLE older_block;
DROP TABLE older_dump;
