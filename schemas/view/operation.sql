-- Views for users: names instead of numbers, microseconds instead of nanoseconds, hashes as they are printed.

-- One row per operation of one rank. rank is the global rank; NULL if no communicator contains all processes.
-- root and peer are ranks in the communicator; root_rank and peer_rank are the same as global ranks, NULL if that rank left
-- no trace, or if several processes claim to be it.
CREATE VIEW v_operation AS
SELECT o.operation_id,
       j.instance_id,
       r.run_id,
       r.global_rank AS rank,
       r.name AS rank_name,
       m.process_id,
       m.communicator_id,
       coalesce(cj.label, c.name) AS communicator,
       printf('%u', c.hash) AS communicator_hash,
       printf('0x%016x', c.hash) AS communicator_hash_hex,
       m.rank AS communicator_rank,
       CASE o.kind WHEN 0 THEN 'collective' WHEN 1 THEN 'point-to-point' ELSE 'copy engine' END AS kind,
       f.name AS function,
       o.sequence,
       o.count,
       d.name AS datatype,
       o.bytes,
       o.root,
       (SELECT CASE WHEN min(x.global_rank) = max(x.global_rank) THEN min(x.global_rank) END
        FROM member n
        JOIN member_join nj ON nj.member_id = n.member_id
        JOIN job_rank x ON x.job_rank_id = nj.job_rank_id
        WHERE n.communicator_id = m.communicator_id AND n.rank = o.root) AS root_rank,
       o.peer,
       (SELECT CASE WHEN min(x.global_rank) = max(x.global_rank) THEN min(x.global_rank) END
        FROM member n
        JOIN member_join nj ON nj.member_id = n.member_id
        JOIN job_rank x ON x.job_rank_id = nj.job_rank_id
        WHERE n.communicator_id = m.communicator_id AND n.rank = o.peer) AS peer_rank,
       a.name AS algorithm,
       p.name AS protocol,
       o.channel_count AS channels,
       CASE WHEN o.stream IS NOT NULL THEN printf('0x%x', o.stream) END AS stream,
       coalesce(j.tag, o.tag) AS tag,
       j.step,
       o.enqueue_begin_ns / 1e3 AS enqueue_begin_us,
       o.enqueue_end_ns / 1e3 AS enqueue_end_us,
       o.device_begin_ns / 1e3 AS device_begin_us,
       o.device_end_ns / 1e3 AS device_end_us,
       o.duration_ns / 1e3 AS duration_us,
       o.initial_sync_ns / 1e3 AS initial_sync_us,
       e.name AS end_source,
       CASE WHEN o.gpu_begin IS NOT NULL THEN printf('%u', o.gpu_begin) END AS gpu_begin,
       CASE WHEN o.gpu_end IS NOT NULL THEN printf('%u', o.gpu_end) END AS gpu_end,
       o.flags & 1 AS unfinished,
       (o.flags >> 1) & 1 AS graph_captured,
       (o.flags >> 3) & 1 AS symmetric,
       coalesce(o.source, (SELECT d.source FROM call_join k JOIN call_description d ON d.call_description_id = k.call_description_id
        WHERE k.operation_id = o.operation_id AND d.source IS NOT NULL ORDER BY d.call_description_id LIMIT 1)) AS source,
       o.operation_id >> 32 AS file_id,
       o.byte_offset
FROM operation o
JOIN member m ON m.member_id = o.member_id
JOIN communicator c ON c.communicator_id = m.communicator_id
LEFT JOIN operation_join j ON j.operation_id = o.operation_id
LEFT JOIN member_join mj ON mj.member_id = m.member_id
LEFT JOIN job_rank r ON r.job_rank_id = mj.job_rank_id
LEFT JOIN communicator_join cj ON cj.communicator_id = m.communicator_id
LEFT JOIN vocabulary f ON f.kind = 'function' AND f.number = o.function
LEFT JOIN vocabulary d ON d.kind = 'datatype' AND d.number = o.datatype
LEFT JOIN vocabulary a ON a.kind = 'algorithm' AND a.number = o.algorithm
LEFT JOIN vocabulary p ON p.kind = 'protocol' AND p.number = o.protocol
LEFT JOIN vocabulary e ON e.kind = 'end_source' AND e.number = o.end_source;
