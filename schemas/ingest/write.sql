-- Statements of an ingest, besides the bulk inserts of lib/store/insert.c.

-- statement: find_process
SELECT process_id FROM process WHERE file_set = ? AND host = ? AND pid = ? AND started_ns = ?
-- statement: add_process
INSERT INTO process (file_set, host, pid, started_ns) VALUES (?, ?, ?, ?) RETURNING process_id
-- statement: find_communicator
SELECT communicator_id FROM communicator WHERE hash = ? AND unhashed_file_id = ?
-- statement: add_communicator
INSERT INTO communicator (hash, unhashed_file_id) VALUES (?, ?) RETURNING communicator_id
-- statement: tell_communicator
-- Values from the first file stay.
UPDATE communicator
SET name = coalesce(name, ?2), size = coalesce(size, ?3), node_count = coalesce(node_count, ?4),
    member_list = coalesce(member_list, ?5), description = coalesce(description, ?6), named_hash = coalesce(named_hash, ?7)
WHERE communicator_id = ?1
-- statement: find_member
SELECT member_id FROM member WHERE communicator_id = ? AND rank = ? AND process_id = ?
-- statement: add_member
INSERT INTO member (communicator_id, rank, process_id) VALUES (?, ?, ?) RETURNING member_id
-- statement: add_file_member
INSERT OR IGNORE INTO file_member (file_id, member_id) VALUES (?, ?)
-- statement: tell_peer
-- Lower bounds of communicator sizes from network traffic, so that joins need not read it.
UPDATE file_member SET greatest_peer = max(coalesce(greatest_peer, ?3), ?3) WHERE file_id = ?1 AND member_id = ?2

-- statement: next_file
SELECT coalesce(max(file_id), 0) + 1 FROM file
-- statement: add_file
INSERT INTO file (file_id, path, file_set, dialect, digest, bytes, unpacked_bytes, status, events, skipped, unpacked_digest,
                  modified_ns, reader, reader_version)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 0), ?, ?)
-- statement: add_ledger
INSERT INTO ledger (file_id, reason, damage, count, first_offset, example) VALUES (?, ?, ?, ?, ?, ?)
-- statement: drop_ledger
-- Of a stored file that continues: its new ledger and its new row replace these. Its records stay.
DELETE FROM ledger WHERE file_id = ?1
-- statement: drop_file
DELETE FROM file WHERE file_id = ?1
-- statement: known_files
-- A compressed file has a second row, for its decompressed content. Also the number of pieces that could not be read,
-- with reason and offset of the first (next to min(), SQLite takes the reason from the same row).
WITH lost AS (
    SELECT file_id, sum(count) AS pieces, reason, min(first_offset) AS first_offset FROM ledger WHERE damage GROUP BY file_id
)
SELECT bytes, digest, dialect, events, skipped, pieces, reason, first_offset, path, reader, reader_version, file_id
FROM file LEFT JOIN lost USING (file_id)
UNION ALL
SELECT unpacked_bytes, unpacked_digest, dialect, events, skipped, pieces, reason, first_offset, path, reader, reader_version, file_id
FROM file LEFT JOIN lost USING (file_id)
WHERE unpacked_digest <> digest
ORDER BY 1
-- statement: file_by_content
SELECT file_id FROM file WHERE digest = ?1 OR unpacked_digest = ?2 ORDER BY digest <> ?1 LIMIT 1
-- statement: file_read_before
-- Returns file ?1 if reader ?2 read it in a version older than ?3, or if an early ncclprof did not store the reader.
SELECT file_id FROM file WHERE file_id = ?1 AND (reader IS NULL OR (reader = ?2 AND reader_version < ?3))
-- statement: move_file
-- The same content is in another file of the directory: the row takes the new path and digest, so that whatever appears
-- at the old path does not replace it. Not if the store has a file with the new path already.
UPDATE file SET path = ?2, digest = ?4, bytes = ?5
WHERE file_id = ?1 AND file_set = ?3 AND (path, digest) <> (?2, ?4)
  AND NOT EXISTS (SELECT 1 FROM file other WHERE other.path = ?2 AND other.file_id <> ?1 AND ?2 <> '-')
-- statement: file_by_path
SELECT file_id FROM file WHERE path = ?1 AND path <> '-' LIMIT 1
-- statement: file_of_twin
-- The Inspector lines of the bundled plugin beside its Chrome trace ?1, which contains the same operations with more
-- detail.
WITH trace AS (SELECT CASE WHEN ?1 LIKE '%.gz' THEN substr(?1, 1, length(?1) - 3) ELSE ?1 END AS name)
SELECT file_id FROM file
WHERE ?2 LIKE 'chrome%' AND dialect LIKE 'inspector-ncclprof%'
  AND path IN ((SELECT name || 'l' FROM trace), (SELECT name || 'l.gz' FROM trace))
LIMIT 1

-- statement: note_arrival
-- Processes whose job must be joined again after file ?1 was added.
INSERT OR IGNORE INTO changed_process (process_id)
SELECT process_id FROM file_member JOIN member USING (member_id) WHERE file_id = ?1
/* processes of file ?1 */

-- statement: note_departure
-- The same before file ?1 is removed. The job may fall apart without it: each part has a process that shared a
-- communicator with a process of the file or, if communicators have no hash, its directory.
INSERT OR IGNORE INTO changed_process (process_id)
SELECT other.process_id
  FROM file_member
  JOIN member USING (member_id)
  JOIN member other ON other.communicator_id = member.communicator_id
 WHERE file_id = ?1
UNION
SELECT other.process_id
  FROM file_member
  JOIN member USING (member_id)
  JOIN communicator USING (communicator_id)
  JOIN process USING (process_id)
  JOIN process other ON other.file_set = process.file_set
 WHERE file_id = ?1 AND communicator.hash = 0
UNION
-- Other recorders of the same processes are joined again.
SELECT as_process_id FROM file_member JOIN member USING (member_id) JOIN witness USING (process_id) WHERE file_id = ?1
UNION
SELECT witness.process_id
  FROM file_member JOIN member USING (member_id) JOIN witness ON witness.as_process_id = member.process_id
 WHERE file_id = ?1
/* processes of file ?1 */

-- statement: sweep
-- Members, communicators and processes that no file refers to any more.
DELETE FROM member WHERE member_id NOT IN (SELECT member_id FROM file_member);
DELETE FROM communicator WHERE communicator_id NOT IN (SELECT communicator_id FROM member);
DELETE FROM instance_block WHERE communicator_id NOT IN (SELECT communicator_id FROM communicator);
DELETE FROM unequal_pair WHERE communicator_id NOT IN (SELECT communicator_id FROM communicator);
DELETE FROM process
WHERE process_id NOT IN (SELECT process_id FROM member)
/* and of no record */;
DELETE FROM clock_step WHERE process_id NOT IN (SELECT process_id FROM process);
DELETE FROM contradiction WHERE process_id NOT IN (SELECT process_id FROM process);
DELETE FROM witness WHERE process_id NOT IN (SELECT process_id FROM process);
DELETE FROM witness_member WHERE member_id NOT IN (SELECT member_id FROM member);
DELETE FROM witness_contradiction WHERE process_id NOT IN (SELECT process_id FROM process);
-- Its id may be used for another process later.
DELETE FROM process_run WHERE process_id NOT IN (SELECT process_id FROM process);
