-- The rows about the shards of a store (lib/store/runs.c).

-- statement: list
SELECT job, number, count, host, is_of_host, path, state, reason FROM shard ORDER BY job, count, number, host, path, shard_id

-- statement: clear
DELETE FROM shard

-- statement: forget
-- Deletes the earlier row of the same shard, identified by its number if shards were counted, else by its host; and the
-- row of another shard that was at the same path.
DELETE FROM shard
 WHERE (path = ?6 AND ?6 <> '')
    OR (job = ?1 AND number = ?2 AND count = ?3 AND (?3 > 1 OR (host = ?4 AND host <> '')))

-- statement: add
INSERT INTO shard (job, number, count, host, is_of_host, path, state, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
