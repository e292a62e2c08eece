-- One row per proxy operation: what the network thread of one rank did for one channel of one operation. Its
-- network steps are in virtual table proxy_step (ncclprof query). peer is a rank in the communicator, peer_rank is the same as
-- a global rank, as in v_operation.
CREATE VIEW v_proxy_operation AS
SELECT p.proxy_operation_id, -- integer: number of the proxy operation
       p.operation_id, -- integer: operation that it belongs to; NULL: unknown
       r.run_id, -- integer: run
       r.global_rank AS rank, -- integer: global rank
       r.name AS rank_name, -- text: name of the rank
       m.communicator_id, -- integer: communicator
       coalesce(cj.label, c.name) AS communicator, -- text: label of the communicator
       m.rank AS communicator_rank, -- integer: rank in the communicator
       CASE p.direction WHEN 0 THEN 'send' ELSE 'recv' END AS direction, -- text: send or recv
       p.channel, -- integer: channel
       p.peer, -- integer: peer, as rank in the communicator
       (SELECT CASE WHEN min(x.global_rank) = max(x.global_rank) THEN min(x.global_rank) END
        FROM member n
        JOIN member_join nj ON nj.member_id = n.member_id
        JOIN job_rank x ON x.job_rank_id = nj.job_rank_id
        WHERE n.communicator_id = m.communicator_id AND n.rank = p.peer) AS peer_rank, -- integer: peer, as global rank
       f.name AS function, -- text: NCCL's function of the operation
       coalesce(j.tag, o.tag) AS tag, -- text: phase of the operation
       j.step AS training_step, -- integer: training step of the operation
       p.step_count AS steps, -- integer: network steps
       p.steps_recorded, -- integer: recorded network steps
       p.chunk_bytes, -- integer bytes: size of a network step
       p.transferred_bytes, -- integer bytes: bytes transferred in total
       p.schedule_begin_ns / 1e3 AS schedule_begin_us, -- real us: time at which it was scheduled, on the clock of its process
       p.progress_begin_ns / 1e3 AS progress_begin_us, -- real us: time at which work on it started, on the clock of its process
       p.progress_end_ns / 1e3 AS progress_end_us, -- real us: time at which it was done, on the clock of its process
       p.continued, -- integer: 1: it continues the network steps of another record
       p.proxy_operation_id >> 32 AS file_id, -- integer: file
       p.byte_offset -- integer bytes: byte offset in the unpacked file
FROM proxy_operation p
LEFT JOIN "operation (packed; .load ncclprof_views.so, or use: ncclprof export --to sqlite)" o ON o.operation_id = p.operation_id
LEFT JOIN member m ON m.member_id = p.member_id
LEFT JOIN communicator c ON c.communicator_id = m.communicator_id
LEFT JOIN operation_join j ON j.operation_id = p.operation_id
LEFT JOIN member_join mj ON mj.member_id = m.member_id
LEFT JOIN job_rank r ON r.job_rank_id = mj.job_rank_id
LEFT JOIN communicator_join cj ON cj.communicator_id = m.communicator_id
LEFT JOIN vocabulary f ON f.kind = 'function' AND f.number = o.function;
