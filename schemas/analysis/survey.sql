-- Queries that `ncclprof watch` repeats at each polling interval.

-- statement: files
-- The files of each run. If they are the same as before, the run is unchanged.
SELECT DISTINCT r.run_id, f.file_id, f.digest
FROM job_rank r
JOIN member_join USING (job_rank_id)
JOIN file_member USING (member_id)
JOIN file f USING (file_id)
ORDER BY r.run_id, f.file_id

-- statement: other_files
-- Files without records of any member, which may belong to any run.
SELECT 0, f.file_id, f.digest
FROM file f
WHERE NOT EXISTS (SELECT 1 FROM file_member m WHERE m.file_id = f.file_id)
ORDER BY f.file_id
