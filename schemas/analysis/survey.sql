-- What `ncclprof watch` asks a store at each look.

-- statement: files
-- The files of each run, by which a run is known to be as it was.
SELECT DISTINCT r.run_id, f.file_id, f.digest
FROM job_rank r
JOIN member_join USING (job_rank_id)
JOIN file_member USING (member_id)
JOIN file f USING (file_id)
ORDER BY r.run_id, f.file_id

-- statement: other_files
-- Those that speak of no member: they may be of any run.
SELECT 0, f.file_id, f.digest
FROM file f
WHERE NOT EXISTS (SELECT 1 FROM file_member m WHERE m.file_id = f.file_id)
ORDER BY f.file_id
