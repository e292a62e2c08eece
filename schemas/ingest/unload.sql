-- What a merge reads of a shard (lib/store/unload.c): the files, and of file ?1 those whom its rows name. The rows
-- themselves are read by the columns that lib/store/insert.c fills.

-- statement: files
SELECT file_id, path, file_set, dialect, digest, unpacked_digest, bytes, unpacked_bytes, status, events, skipped, modified_ns
  FROM file ORDER BY file_id
-- statement: is_there
-- A shard may be written anew while it is merged.
SELECT 1 FROM file WHERE file_id = ?1 AND digest = ?2
-- statement: ledger
SELECT reason, damage, count, first_offset, example FROM ledger WHERE file_id = ?1 ORDER BY reason

-- All by number, which is the order in which the files of the shard named them first.
-- statement: processes
SELECT process_id, host, pid, started_ns
  FROM process
 WHERE process_id IN (
    SELECT process_id FROM file_member JOIN member USING (member_id) WHERE file_id = ?1
    UNION SELECT process_id FROM tag_mark WHERE tag_mark_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295
    UNION SELECT process_id FROM tag_name WHERE tag_name_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295
    UNION SELECT process_id FROM clock_anchor WHERE clock_anchor_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295
    UNION SELECT process_id FROM loss WHERE loss_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295
    UNION SELECT process_id FROM process_fact WHERE process_fact_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295
    UNION SELECT process_id FROM group_status WHERE group_status_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295
    UNION SELECT process_id FROM start_up WHERE start_up_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295
    UNION SELECT process_id FROM warning WHERE warning_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295
    UNION SELECT process_id FROM registration WHERE registration_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295
    UNION SELECT process_id FROM call_description
           WHERE call_description_id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295)
 ORDER BY process_id
-- statement: communicators
SELECT communicator_id, hash, name, size, node_count, member_list, description, named_hash
  FROM communicator
 WHERE communicator_id IN (SELECT communicator_id FROM file_member JOIN member USING (member_id) WHERE file_id = ?1)
 ORDER BY communicator_id
-- statement: members
SELECT member_id, communicator_id, process_id, rank, greatest_peer
  FROM file_member JOIN member USING (member_id) WHERE file_id = ?1 ORDER BY member_id
