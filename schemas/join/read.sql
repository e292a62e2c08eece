-- What analyses read block by block: for all runs, or for run ?1 without reading those of others. The query plan
-- returns blocks in order of their ids; they are too large to be sorted.

-- statement: operations
SELECT operation_block.block_id, operation_block.member_id, operation_block.packed, operation_join_block.packed
  FROM operation_block
 CROSS JOIN member_join ON member_join.member_id = operation_block.member_id
 CROSS JOIN job_rank ON job_rank.job_rank_id = member_join.job_rank_id
 CROSS JOIN operation_join_block ON operation_join_block.block_id = operation_block.block_id
 ORDER BY operation_block.block_id;

-- statement: operations_of_run
SELECT operation_block.block_id, operation_block.member_id, operation_block.packed, operation_join_block.packed
  FROM operation_block
 CROSS JOIN operation_join_block ON operation_join_block.block_id = operation_block.block_id
 WHERE operation_block.block_id IN (
    SELECT of_member.block_id
      FROM job_rank
     CROSS JOIN member_join ON member_join.job_rank_id = job_rank.job_rank_id
     CROSS JOIN operation_block of_member ON of_member.member_id = member_join.member_id
     WHERE job_rank.run_id = ?1)
 ORDER BY operation_block.block_id;

-- Blocks of a run by their ids, a JSON list.

-- statement: operations_of_blocks
SELECT operation_block.block_id, operation_block.member_id, operation_block.packed, operation_join_block.packed
  FROM operation_block
 CROSS JOIN operation_join_block ON operation_join_block.block_id = operation_block.block_id
 WHERE operation_block.block_id IN (SELECT value FROM json_each(?1))
 ORDER BY operation_block.block_id;

-- statement: instances
SELECT instance_block.block_id, instance_block.communicator_id, instance_block.packed
  FROM instance_block
 CROSS JOIN communicator_join ON communicator_join.communicator_id = instance_block.communicator_id
 ORDER BY instance_block.block_id;

-- statement: instances_of_run
SELECT instance_block.block_id, instance_block.communicator_id, instance_block.packed
  FROM communicator_join
 CROSS JOIN instance_block ON instance_block.block_id BETWEEN communicator_join.communicator_id << 32
                                                  AND (communicator_join.communicator_id << 32) + 4294967295
 WHERE communicator_join.run_id = ?1
 ORDER BY communicator_join.communicator_id, instance_block.block_id;
