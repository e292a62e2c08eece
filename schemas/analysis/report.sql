-- What report groups. ?1 is a run, or NULL for all of them.

-- One row an instance.
-- statement: instances
SELECT instance_id, instance.run_id, instance.tag, instance.function, communicator_join.label,
       communicator_join.size, size_bytes, instance.step, members, transfer_ns, effective_ns,
       NULL, NULL, NULL
  FROM instance JOIN communicator_join USING (communicator_id)
 WHERE ?1 IS NULL OR instance.run_id = ?1
 ORDER BY instance_id;

-- One row an operation of a single rank: algorithm, protocol and rank are known only there.
-- statement: operations
SELECT instance_id, instance.run_id, instance.tag, instance.function, communicator_join.label,
       communicator_join.size, size_bytes, instance.step, 1, transfer_ns, effective_ns,
       operation.algorithm, operation.protocol, job_rank.name
  FROM instance
  JOIN communicator_join USING (communicator_id)
  JOIN operation_join USING (instance_id)
  JOIN operation USING (operation_id)
  JOIN member_join USING (member_id)
  JOIN job_rank USING (job_rank_id)
 WHERE ?1 IS NULL OR instance.run_id = ?1
 ORDER BY instance_id;

-- statement: unhashed
SELECT count(*) FROM communicator WHERE hash = 0;

-- statement: runs
SELECT count(*) FROM run;
