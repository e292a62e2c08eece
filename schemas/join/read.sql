-- What analyses read, block by block. ?1 is a run, or NULL for all of them.

-- statement: operations
SELECT operation_block.block_id, operation_block.member_id, operation_block.packed, operation_join_block.packed
  FROM operation_block
 CROSS JOIN member_join ON member_join.member_id = operation_block.member_id
 CROSS JOIN job_rank ON job_rank.job_rank_id = member_join.job_rank_id
 CROSS JOIN operation_join_block ON operation_join_block.block_id = operation_block.block_id
 WHERE ?1 IS NULL OR job_rank.run_id = ?1
 ORDER BY operation_block.block_id;

-- statement: instances
SELECT instance_block.block_id, instance_block.communicator_id, instance_block.packed
  FROM instance_block
 CROSS JOIN communicator_join ON communicator_join.communicator_id = instance_block.communicator_id
 WHERE ?1 IS NULL OR communicator_join.run_id = ?1
 ORDER BY instance_block.block_id;
