-- One row per proxy operation: what the network thread of one rank did for one channel of one operation. Its
-- network steps are in virtual table proxy_step (ncclprof query). peer is a rank in the communicator, peer_rank is the same as
-- a global rank, as in v_operation.
CREATE VIEW v_proxy_operation AS
SELECT p.proxy_operation_id,
       p.operation_id,
       r.run_id,
       r.global_rank AS rank,
       r.name AS rank_name,
       m.communicator_id,
       coalesce(cj.label, c.name) AS communicator,
       m.rank AS communicator_rank,
       CASE p.direction WHEN 0 THEN 'send' ELSE 'recv' END AS direction,
       p.channel,
       p.peer,
       (SELECT CASE WHEN min(x.global_rank) = max(x.global_rank) THEN min(x.global_rank) END
        FROM member n
        JOIN member_join nj ON nj.member_id = n.member_id
        JOIN job_rank x ON x.job_rank_id = nj.job_rank_id
        WHERE n.communicator_id = m.communicator_id AND n.rank = p.peer) AS peer_rank,
       f.name AS function,
       coalesce(j.tag, o.tag) AS tag,
       j.step AS training_step,
       p.step_count AS steps,
       p.steps_recorded,
       p.chunk_bytes,
       p.transferred_bytes,
       p.schedule_begin_ns / 1e3 AS schedule_begin_us,
       p.progress_begin_ns / 1e3 AS progress_begin_us,
       p.progress_end_ns / 1e3 AS progress_end_us,
       p.continued,
       p.proxy_operation_id >> 32 AS file_id,
       p.byte_offset
FROM proxy_operation p
LEFT JOIN operation o ON o.operation_id = p.operation_id
LEFT JOIN member m ON m.member_id = p.member_id
LEFT JOIN communicator c ON c.communicator_id = m.communicator_id
LEFT JOIN operation_join j ON j.operation_id = p.operation_id
LEFT JOIN member_join mj ON mj.member_id = m.member_id
LEFT JOIN job_rank r ON r.job_rank_id = mj.job_rank_id
LEFT JOIN communicator_join cj ON cj.communicator_id = m.communicator_id
LEFT JOIN vocabulary f ON f.kind = 'function' AND f.number = o.function;
