-- Lookups for filters.

-- statement: host
-- Global ranks on host ?1.
SELECT DISTINCT rank FROM v_rank WHERE host = ?1 AND rank IS NOT NULL ORDER BY rank;

-- Whether something in the store has the value of a filter, and what the store has instead. ?1 is a run; NULL: all runs. ?2
-- is the value; of ranks and steps, ?2 to ?3. No row: the store has no run, so that nothing is known.

-- statement: ranks
SELECT EXISTS (SELECT 1 FROM job_rank WHERE global_rank BETWEEN ?2 AND ?3 AND run_id = ifnull(?1, run_id))
       OR EXISTS (SELECT 1 FROM run WHERE global_ranks AND expected_ranks > ?2 AND run_id = ifnull(?1, run_id))
       OR EXISTS (SELECT 1 FROM call_description WHERE rank BETWEEN ?2 AND ?3),
       (SELECT 'its ranks are 0-' || max(greatest)
          FROM (SELECT max(global_rank) AS greatest FROM job_rank WHERE run_id = ifnull(?1, run_id)
                UNION ALL
                SELECT max(expected_ranks) - 1 FROM run WHERE global_ranks AND run_id = ifnull(?1, run_id)))
 WHERE EXISTS (SELECT 1 FROM run);

-- statement: steps
SELECT EXISTS (SELECT 1 FROM run WHERE first_step <= ?3 AND step_count > ?2 AND run_id = ifnull(?1, run_id)),
       (SELECT 'its steps are ' || min(first_step) || '-' || (max(step_count) - 1)
          FROM run WHERE step_count > 0 AND run_id = ifnull(?1, run_id))
 WHERE EXISTS (SELECT 1 FROM run);

-- The marks are few; only for a tag that none of them has, all operations are read.
-- statement: tags
SELECT EXISTS (SELECT 1 FROM tag_mark WHERE text = ?2) OR EXISTS (SELECT 1 FROM tag_name WHERE text = ?2)
       OR EXISTS (SELECT 1 FROM sample WHERE tag = ?2) OR EXISTS (SELECT 1 FROM operation_join WHERE tag = ?2),
       (SELECT 'its tags are ' || group_concat(text, ', ') FROM (SELECT DISTINCT text FROM tag_mark WHERE text <> '' LIMIT 8))
 WHERE EXISTS (SELECT 1 FROM run);

-- statement: communicators
SELECT EXISTS (SELECT 1 FROM communicator_join WHERE label = ?2 AND run_id = ifnull(?1, run_id))
       OR EXISTS (SELECT 1 FROM communicator WHERE name = ?2) OR EXISTS (SELECT 1 FROM sample WHERE communicator = ?2)
       OR EXISTS (SELECT 1 FROM call_description WHERE group_ranks = ?2),
       (SELECT 'some of its communicators: ' || group_concat(label, '; ')
          FROM (SELECT DISTINCT label FROM communicator_join WHERE run_id = ifnull(?1, run_id) LIMIT 4))
 WHERE EXISTS (SELECT 1 FROM run);
