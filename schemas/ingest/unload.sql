-- What a merge reads of a shard (lib/store/unload.c): the files, and for file ?1 the processes, communicators and
-- members of its rows. The rows themselves are read with the columns in lib/model/record.c.

-- statement: files
SELECT file_id, path, file_set, dialect, digest, unpacked_digest, bytes, unpacked_bytes, status, events, skipped, modified_ns,
       reader, reader_version
  FROM file ORDER BY file_id
-- statement: is_there
-- A shard may be written again during the merge.
SELECT 1 FROM file WHERE file_id = ?1 AND digest = ?2
-- statement: ledger
SELECT reason, damage, count, first_offset, example FROM ledger WHERE file_id = ?1 ORDER BY reason

-- All in order of their ids, which is the order in which the files of the shard first named them, and all as recorded,
-- before any join changed them (schemas/ingest/recorded.sql).
-- statement: processes
SELECT process_id, host, pid, started_ns
  FROM (SELECT process_id, host, pid, started_ns FROM process
        UNION ALL SELECT process_id, host, pid, started_ns FROM process_recorded)
 WHERE process_id IN (
    SELECT coalesce(recorded.process_id, member.process_id)
      FROM (SELECT member_id FROM file_member WHERE file_id = ?1
            UNION SELECT member_id FROM file_member_recorded WHERE file_id = ?1) AS said
      LEFT JOIN member_recorded AS recorded USING (member_id)
      LEFT JOIN member USING (member_id)
    /* processes that file ?1 recorded */)
 ORDER BY process_id
-- statement: communicators
SELECT communicator_id, hash, name, size, node_count, member_list, description, named_hash
  FROM communicator
 WHERE communicator_id IN (
    SELECT coalesce(recorded.communicator_id, member.communicator_id)
      FROM (SELECT member_id FROM file_member WHERE file_id = ?1
            UNION SELECT member_id FROM file_member_recorded WHERE file_id = ?1) AS said
      LEFT JOIN member_recorded AS recorded USING (member_id)
      LEFT JOIN member USING (member_id))
 ORDER BY communicator_id
-- statement: members
SELECT member_id, coalesce(recorded.communicator_id, member.communicator_id), coalesce(recorded.process_id, member.process_id),
       coalesce(recorded.rank, member.rank)
  FROM (SELECT member_id FROM file_member WHERE file_id = ?1
        UNION SELECT member_id FROM file_member_recorded WHERE file_id = ?1) AS said
  LEFT JOIN member_recorded AS recorded USING (member_id)
  LEFT JOIN member USING (member_id)
 WHERE coalesce(recorded.process_id, member.process_id) IS NOT NULL
 ORDER BY member_id
