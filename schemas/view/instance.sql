-- One row per operation of a whole communicator: a collective joined across its ranks, or a send with its receive.
-- GB = 1e9 bytes; bus bandwidth is defined as in nccl-tests' doc/PERFORMANCE.md, with n the communicator's size.
-- sender and receiver are ranks in the communicator; sender_rank and receiver_rank are the same as global ranks, as in
-- v_operation.
CREATE VIEW v_instance AS
SELECT i.instance_id,
       i.run_id,
       i.communicator_id,
       cj.label AS communicator,
       cj.size AS ranks,
       f.name AS function,
       i.sequence,
       i.sender,
       (SELECT CASE WHEN min(x.global_rank) = max(x.global_rank) THEN min(x.global_rank) END
        FROM member n
        JOIN member_join nj ON nj.member_id = n.member_id
        JOIN job_rank x ON x.job_rank_id = nj.job_rank_id
        WHERE n.communicator_id = i.communicator_id AND n.rank = i.sender) AS sender_rank,
       i.receiver,
       (SELECT CASE WHEN min(x.global_rank) = max(x.global_rank) THEN min(x.global_rank) END
        FROM member n
        JOIN member_join nj ON nj.member_id = n.member_id
        JOIN job_rank x ON x.job_rank_id = nj.job_rank_id
        WHERE n.communicator_id = i.communicator_id AND n.rank = i.receiver) AS receiver_rank,
       i.tag,
       i.step,
       i.size_bytes,
       i.members,
       i.expected,
       i.transfer_ns / 1e3 AS transfer_us,
       i.effective_ns / 1e3 AS effective_us,
       i.margin_ns / 1e3 AS margin_us,
       r.name AS last_rank,
       1.0 * i.size_bytes / nullif(i.transfer_ns, 0) AS transfer_algbw_gbs,
       1.0 * i.size_bytes / nullif(i.transfer_ns, 0) * CASE
           WHEN f.name = 'AllReduce' THEN 2.0 * (cj.size - 1) / cj.size
           WHEN f.name IN ('AllGather', 'ReduceScatter', 'AlltoAll', 'Gather', 'Scatter') THEN 1.0 * (cj.size - 1) / cj.size
           WHEN f.name IN ('Broadcast', 'Reduce', 'Send', 'Recv') THEN 1.0
       END AS transfer_busbw_gbs,
       1.0 * i.size_bytes / nullif(i.effective_ns, 0) * CASE
           WHEN f.name = 'AllReduce' THEN 2.0 * (cj.size - 1) / cj.size
           WHEN f.name IN ('AllGather', 'ReduceScatter', 'AlltoAll', 'Gather', 'Scatter') THEN 1.0 * (cj.size - 1) / cj.size
           WHEN f.name IN ('Broadcast', 'Reduce', 'Send', 'Recv') THEN 1.0
       END AS effective_busbw_gbs
FROM instance i
JOIN communicator_join cj ON cj.communicator_id = i.communicator_id
LEFT JOIN member_join mj ON mj.member_id = i.last_member_id
LEFT JOIN job_rank r ON r.job_rank_id = mj.job_rank_id
LEFT JOIN vocabulary f ON f.kind = 'function' AND f.number = i.function;
