-- What report reads besides packed blocks. ?1 is a run, or NULL for all of them.

-- statement: unhashed
SELECT count(*) FROM communicator JOIN communicator_join USING (communicator_id)
 WHERE hash = 0 AND (?1 IS NULL OR run_id = ?1);
