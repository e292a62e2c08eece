-- Version 8: a run keeps its number and its name while others come and go.

-- Given by lib/join when the run is first seen, after the folder of its files. NULL: the store has not been joined since
-- an earlier version made it.
ALTER TABLE run ADD COLUMN name TEXT;

-- Which run each process belongs to. Table run is made anew at each join; by this its rows keep their numbers and names.
CREATE TABLE process_run (
    process_id INTEGER PRIMARY KEY REFERENCES process,
    run_id INTEGER NOT NULL
);
INSERT OR IGNORE INTO process_run (process_id, run_id)
SELECT process_id, run_id FROM job_rank WHERE process_id IS NOT NULL ORDER BY run_id;

-- Fact last_run: the greatest number that a run ever had. No run gets it again.
INSERT OR REPLACE INTO fact (name, value) SELECT 'last_run', max(run_id) FROM run HAVING max(run_id) IS NOT NULL;
-- Names come with the next join, which leaves the operations of runs without news as they are.
UPDATE fact SET value = 0 WHERE name = 'joined';
