-- What a judgement has to be warned of. ?1 is a run, or NULL for all of them.

-- Calls below which no operation stands: of those that moved data what became of them is not known. Captured in a graph, and
-- not. Those of no data, or of one rank, moved none.
-- statement: bare_calls
SELECT coalesce(sum(count) FILTER (WHERE reason = 'call without operation: captured in a graph'), 0),
       coalesce(sum(count) FILTER (WHERE reason = 'call without operation'), 0)
  FROM ledger
 WHERE reason GLOB 'call without operation*' AND (?1 IS NULL OR file_id IN (
     SELECT file_id FROM file_member JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
      WHERE run_id = ?1));

-- statement: repeated
-- Inspector numbers each collective of a communicator and function once: where two logs of a process have the same, one
-- is an earlier state of the other. Operations are looked at only where a process has several logs.
WITH several AS (
    SELECT member_id FROM file_member JOIN file USING (file_id)
     WHERE dialect GLOB 'inspector*' AND (?1 IS NULL OR member_id IN (
         SELECT member_id FROM job_rank JOIN member_join USING (job_rank_id) WHERE run_id = ?1))
     GROUP BY member_id HAVING count(*) > 1
)
SELECT count(*) FROM (
    SELECT 1 FROM several CROSS JOIN operation ON operation.member_id = several.member_id
     WHERE kind = 0 AND sequence IS NOT NULL
     GROUP BY operation.member_id, function, sequence HAVING count(DISTINCT operation_id >> 32) > 1);
