-- Finds runs by name or number (lib/store/runs.c).

-- statement: find
-- A name is never a number (lib/join/run_names.c). ?2: the number, or NULL.
SELECT run_id FROM run WHERE name = ?1 OR run_id = ?2 ORDER BY name IS ?1 DESC LIMIT 1

-- statement: some
-- As many as an error message shows.
SELECT run_id, name, (SELECT count(*) FROM run) FROM run ORDER BY run_id LIMIT 4
