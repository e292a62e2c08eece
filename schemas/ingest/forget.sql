-- What `ncclprof ingest --forget` asks (lib/store/forget.c). ?1: a run. A file speaks of a run where it holds anything of
-- one of its processes.

-- statement: files
SELECT file_id, path, dialect, events, skipped, bytes
  FROM file
 WHERE file_id IN (
    SELECT file_id FROM process_run JOIN member USING (process_id) JOIN file_member USING (member_id) WHERE run_id = ?1
    UNION SELECT tag_mark_id >> 32 FROM process_run JOIN tag_mark USING (process_id) WHERE run_id = ?1
    UNION SELECT tag_name_id >> 32 FROM process_run JOIN tag_name USING (process_id) WHERE run_id = ?1
    UNION SELECT clock_anchor_id >> 32 FROM process_run JOIN clock_anchor USING (process_id) WHERE run_id = ?1
    UNION SELECT loss_id >> 32 FROM process_run JOIN loss USING (process_id) WHERE run_id = ?1
    UNION SELECT process_fact_id >> 32 FROM process_run JOIN process_fact USING (process_id) WHERE run_id = ?1
    UNION SELECT group_status_id >> 32 FROM process_run JOIN group_status USING (process_id) WHERE run_id = ?1
    UNION SELECT warning_id >> 32 FROM process_run JOIN warning USING (process_id) WHERE run_id = ?1
    UNION SELECT call_description_id >> 32 FROM call_join WHERE run_id = ?1)
 ORDER BY path, file_id

-- statement: other_runs
-- The other runs that file ?2 speaks of.
SELECT DISTINCT run_id, run.name
  FROM (SELECT process_id FROM file_member JOIN member USING (member_id) WHERE file_id = ?2
        UNION SELECT process_id FROM tag_mark WHERE tag_mark_id BETWEEN ?2 << 32 AND (?2 << 32) + 4294967295
        UNION SELECT process_id FROM tag_name WHERE tag_name_id BETWEEN ?2 << 32 AND (?2 << 32) + 4294967295
        UNION SELECT process_id FROM clock_anchor WHERE clock_anchor_id BETWEEN ?2 << 32 AND (?2 << 32) + 4294967295
        UNION SELECT process_id FROM loss WHERE loss_id BETWEEN ?2 << 32 AND (?2 << 32) + 4294967295
        UNION SELECT process_id FROM process_fact
               WHERE process_fact_id BETWEEN ?2 << 32 AND (?2 << 32) + 4294967295
        UNION SELECT process_id FROM group_status
               WHERE group_status_id BETWEEN ?2 << 32 AND (?2 << 32) + 4294967295
        UNION SELECT process_id FROM warning WHERE warning_id BETWEEN ?2 << 32 AND (?2 << 32) + 4294967295)
  JOIN process_run USING (process_id)
  LEFT JOIN run USING (run_id)
 WHERE run_id <> ?1
 ORDER BY run_id
