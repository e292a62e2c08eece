-- Views for users: names instead of numbers, microseconds instead of nanoseconds, hashes as they are printed.

-- One row per operation of one rank. rank is the global rank; NULL if no communicator contains all processes.
-- root and peer are ranks in the communicator; root_rank and peer_rank are the same as global ranks, NULL if that rank left
-- no trace, or if several processes claim to be it.
CREATE VIEW v_operation AS
SELECT o.operation_id, -- integer: number of the operation: file number x 2^32 + position in the file
       j.instance_id, -- integer: instance that it is part of: the operation of the whole communicator
       r.run_id, -- integer: run
       r.global_rank AS rank, -- integer: global rank
       r.name AS rank_name, -- text: name of the rank
       m.process_id, -- integer: process that recorded it
       m.communicator_id, -- integer: communicator
       coalesce(cj.label, c.name) AS communicator, -- text: label of the communicator
       printf('%u', c.hash) AS communicator_hash, -- text: NCCL's hash of the communicator, decimal
       printf('0x%016x', c.hash) AS communicator_hash_hex, -- text: NCCL's hash of the communicator, hexadecimal
       m.rank AS communicator_rank, -- integer: rank in the communicator
       CASE o.kind WHEN 0 THEN 'collective' WHEN 1 THEN 'point-to-point' ELSE 'copy engine' END AS kind, -- text: collective, point-to-point or copy engine
       f.name AS function, -- text: NCCL's function: AllReduce, Send ...
       o.sequence, -- integer: sequence number on its communicator, per function
       o.count, -- integer: number of elements, as passed to the call
       d.name AS datatype, -- text: element type
       o.bytes, -- integer bytes: count x element size
       o.root, -- integer: root, as rank in the communicator
       (SELECT CASE WHEN min(x.global_rank) = max(x.global_rank) THEN min(x.global_rank) END
        FROM member n
        JOIN member_join nj ON nj.member_id = n.member_id
        JOIN job_rank x ON x.job_rank_id = nj.job_rank_id
        WHERE n.communicator_id = m.communicator_id AND n.rank = o.root) AS root_rank, -- integer: root, as global rank
       o.peer, -- integer: peer, as rank in the communicator
       (SELECT CASE WHEN min(x.global_rank) = max(x.global_rank) THEN min(x.global_rank) END
        FROM member n
        JOIN member_join nj ON nj.member_id = n.member_id
        JOIN job_rank x ON x.job_rank_id = nj.job_rank_id
        WHERE n.communicator_id = m.communicator_id AND n.rank = o.peer) AS peer_rank, -- integer: peer, as global rank
       a.name AS algorithm, -- text: NCCL's algorithm
       p.name AS protocol, -- text: NCCL's protocol
       o.channel_count AS channels, -- integer: channels used
       CASE WHEN o.stream IS NOT NULL THEN printf('0x%x', o.stream) END AS stream, -- text: CUDA stream, hexadecimal
       coalesce(j.tag, o.tag) AS tag, -- text: phase: user tag of the operation
       j.step, -- integer: training step
       o.enqueue_begin_ns / 1e3 AS enqueue_begin_us, -- real us: time at which the host started to enqueue it, on the clock of its process
       o.enqueue_end_ns / 1e3 AS enqueue_end_us, -- real us: time at which the host had enqueued it, on the clock of its process
       o.device_begin_ns / 1e3 AS device_begin_us, -- real us: start on the device, as seen by the host
       o.device_end_ns / 1e3 AS device_end_us, -- real us: end on the device, as seen by the host
       o.duration_ns / 1e3 AS duration_us, -- real us: duration on the device; on the clock of the GPU, if recorded
       o.initial_sync_ns / 1e3 AS initial_sync_us, -- real us: first phase of its kernel: wait for the other ranks
       e.name AS end_source, -- text: source of its end: kernel, proxy, host or dump
       CASE WHEN o.gpu_begin IS NOT NULL THEN printf('%u', o.gpu_begin) END AS gpu_begin, -- text: GPU clock at its start, decimal
       CASE WHEN o.gpu_end IS NOT NULL THEN printf('%u', o.gpu_end) END AS gpu_end, -- text: GPU clock at its end, decimal
       o.flags & 1 AS unfinished, -- integer: 1: it did not end within the trace
       (o.flags >> 1) & 1 AS graph_captured, -- integer: 1: captured in a CUDA graph
       (o.flags >> 3) & 1 AS symmetric, -- integer: 1: a symmetric kernel
       coalesce(o.source, (SELECT d.source FROM call_join k JOIN call_description d ON d.call_description_id = k.call_description_id
        WHERE k.operation_id = o.operation_id AND d.source IS NOT NULL ORDER BY d.call_description_id LIMIT 1)) AS source, -- text: line of the program that called it
       o.operation_id >> 32 AS file_id, -- integer: file
       o.byte_offset -- integer bytes: byte offset in the unpacked file
FROM "operation (packed; .load ncclprof_views.so, or use: ncclprof export --to sqlite)" o
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
