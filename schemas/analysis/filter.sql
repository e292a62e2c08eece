-- What filters look up.

-- statement: host
-- Global ranks that ran on a host: ?1.
SELECT DISTINCT rank FROM v_rank WHERE host = ?1 AND rank IS NOT NULL ORDER BY rank;
