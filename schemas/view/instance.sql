-- One row per operation of a whole communicator: a collective joined across its ranks, or a send with its receive.
-- GB = 1e9 bytes; bus bandwidth is defined as in nccl-tests' doc/PERFORMANCE.md, with n the communicator's size.
-- sender and receiver are ranks in the communicator; sender_rank and receiver_rank are the same as global ranks, as in
-- v_operation.
CREATE VIEW v_instance AS
SELECT i.instance_id, -- integer: number of the instance
       i.run_id, -- integer: run
       i.communicator_id, -- integer: communicator
       cj.label AS communicator, -- text: label of the communicator
       cj.size AS ranks, -- integer: ranks of the communicator
       f.name AS function, -- text: NCCL's function; Send for a send with its receive
       i.sequence, -- integer: sequence number on its communicator, per function
       i.sender, -- integer: for a send with its receive: rank in the communicator
       (SELECT CASE WHEN min(x.global_rank) = max(x.global_rank) THEN min(x.global_rank) END
        FROM member n
        JOIN member_join nj ON nj.member_id = n.member_id
        JOIN job_rank x ON x.job_rank_id = nj.job_rank_id
        WHERE n.communicator_id = i.communicator_id AND n.rank = i.sender) AS sender_rank, -- integer: for a send with its receive: global rank
       i.receiver, -- integer: for a send with its receive: rank in the communicator
       (SELECT CASE WHEN min(x.global_rank) = max(x.global_rank) THEN min(x.global_rank) END
        FROM member n
        JOIN member_join nj ON nj.member_id = n.member_id
        JOIN job_rank x ON x.job_rank_id = nj.job_rank_id
        WHERE n.communicator_id = i.communicator_id AND n.rank = i.receiver) AS receiver_rank, -- integer: for a send with its receive: global rank
       i.tag, -- text: phase
       i.step, -- integer: training step
       i.size_bytes, -- integer bytes: message size as defined by nccl-tests
       i.members, -- integer: ranks with a record of it
       i.expected, -- integer: ranks that should have a record of it
       i.transfer_ns / 1e3 AS transfer_us, -- real us: transfer time: shortest duration over its ranks
       i.effective_ns / 1e3 AS effective_us, -- real us: longest duration over its ranks, including wait time
       i.margin_ns / 1e3 AS margin_us, -- real us: time between the arrivals of the last rank and the last but one
       CASE WHEN i.margin_ns > 0 THEN r.name END AS last_rank, -- text: name of the rank that arrived last; NULL if several did at the same time
       1.0 * i.size_bytes / nullif(i.transfer_ns, 0) AS transfer_algbw_gbs, -- real GB/s: size / transfer_us, 1e9 bytes per second
       1.0 * i.size_bytes / nullif(i.transfer_ns, 0) * CASE
           WHEN f.name = 'AllReduce' THEN 2.0 * (cj.size - 1) / cj.size
           WHEN f.name IN ('AllGather', 'ReduceScatter', 'AlltoAll', 'Gather', 'Scatter') THEN 1.0 * (cj.size - 1) / cj.size
           WHEN f.name IN ('Broadcast', 'Reduce', 'Send', 'Recv') THEN 1.0
       END AS transfer_busbw_gbs, -- real GB/s: bus bandwidth by transfer_us, as in nccl-tests
       1.0 * i.size_bytes / nullif(i.effective_ns, 0) * CASE
           WHEN f.name = 'AllReduce' THEN 2.0 * (cj.size - 1) / cj.size
           WHEN f.name IN ('AllGather', 'ReduceScatter', 'AlltoAll', 'Gather', 'Scatter') THEN 1.0 * (cj.size - 1) / cj.size
           WHEN f.name IN ('Broadcast', 'Reduce', 'Send', 'Recv') THEN 1.0
       END AS effective_busbw_gbs -- real GB/s: bus bandwidth by effective_us, as in nccl-tests
FROM "instance (packed; .load ncclprof_views.so, or use: ncclprof export --to sqlite)" i
JOIN communicator_join cj ON cj.communicator_id = i.communicator_id
LEFT JOIN member_join mj ON mj.member_id = i.last_member_id
LEFT JOIN job_rank r ON r.job_rank_id = mj.job_rank_id
LEFT JOIN vocabulary f ON f.kind = 'function' AND f.number = i.function;
