-- Queries of `ncclprof ingest --forget` (lib/store/forget.c). ?1: a run. A file belongs to a run if it contains
-- anything of one of the run's processes.

-- statement: files
SELECT file_id, path, dialect, events, skipped, bytes
  FROM file
 WHERE file_id IN (
    SELECT file_id FROM process_run JOIN member USING (process_id) JOIN file_member USING (member_id) WHERE run_id = ?1
    -- Logs that were merged into a trace.
    UNION SELECT file_id
            FROM communicator_join JOIN member_recorded USING (communicator_id) JOIN file_member_recorded USING (member_id)
           WHERE run_id = ?1
    UNION SELECT call_description_id >> 32 FROM call_join WHERE run_id = ?1
    /* files of run ?1 */)
 ORDER BY path, file_id

-- statement: other_runs
-- The runs that file ?1 belongs to, except run ?2.
SELECT DISTINCT run_id, run.name
  FROM (SELECT process_id FROM file_member JOIN member USING (member_id) WHERE file_id = ?1
        /* processes of file ?1 */)
  JOIN process_run USING (process_id)
  LEFT JOIN run USING (run_id)
 WHERE run_id <> ?2
 ORDER BY run_id

-- Files that name no process of a run, such as memory snapshots and averages: they belong to the runs whose files are nearest in
-- the directory tree.
-- statement: files_of_nobody
SELECT file_id, path, dialect, events, skipped, bytes
  FROM file
 WHERE file_id NOT IN (SELECT file_id FROM file_member) AND file_id NOT IN (SELECT file_id FROM file_member_recorded)
   AND file_id NOT IN (SELECT call_description_id >> 32 FROM call_join WHERE run_id IS NOT NULL)
   /* and without a run */
 ORDER BY path, file_id

-- The directories of the runs' files.
-- statement: folders
SELECT DISTINCT run_id, file_set FROM process_run JOIN process USING (process_id)
