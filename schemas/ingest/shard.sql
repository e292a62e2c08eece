-- What a store says of the shards that it is made of (lib/store/runs.c).

-- statement: list
SELECT job, number, count, host, is_of_host, path, state, reason FROM shard ORDER BY job, count, number, host, path, shard_id

-- statement: clear
DELETE FROM shard

-- statement: forget
-- What was said before of the same shard: by its number where they were counted, else by its host; and what was said of
-- the same path, where another one lay.
DELETE FROM shard
 WHERE (path = ?6 AND ?6 <> '')
    OR (job = ?1 AND number = ?2 AND count = ?3 AND (?3 > 1 OR (host = ?4 AND host <> '')))

-- statement: add
INSERT INTO shard (job, number, count, host, is_of_host, path, state, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- statement: lacking
-- Why something may not be there: a line each shard, and one for those that should have been there.
SELECT number, count, host, path, state, reason FROM shard WHERE state <> 'whole' ORDER BY job, count, number, host, path
-- statement: expected
-- How many shards were promised, and how many are there.
SELECT coalesce((SELECT value FROM fact WHERE name = 'shards_expected'), 0),
       (SELECT count(*) FROM shard WHERE state IN ('whole', 'lacking', 'unfinished'))
