-- What the HTML report says of a run beside its verdict. ?1 is the run.

-- statement: recorders
-- The formats of its files, and when the first and the last of them were written.
SELECT group_concat(DISTINCT dialect), min(modified_ns), max(modified_ns)
  FROM file
 WHERE file_id IN (SELECT file_id FROM job_rank JOIN member_join USING (job_rank_id) JOIN file_member USING (member_id)
                    WHERE run_id = ?1);

-- statement: versions
-- Versions of software in NCCL's log, as NAME=VALUE, those of most ranks first.
WITH of_run AS (
    SELECT process_id FROM job_rank WHERE run_id = ?1 AND process_id IS NOT NULL
    UNION
    SELECT witness.process_id FROM job_rank CROSS JOIN witness ON as_process_id = job_rank.process_id WHERE run_id = ?1
)
SELECT text
  FROM of_run CROSS JOIN warning USING (process_id)
 WHERE kind = 35 AND text GLOB '* version=*'
 GROUP BY text
 ORDER BY substr(text, 1, instr(text, '=')) DESC, count(*) DESC, text;
