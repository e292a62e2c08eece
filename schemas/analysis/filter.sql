-- Lookups for filters.

-- statement: host
-- Global ranks on host ?1.
SELECT DISTINCT rank FROM v_rank WHERE host = ?1 AND rank IS NOT NULL ORDER BY rank;
