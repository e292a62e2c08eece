-- Descriptions that programs give of their calls, and Inspector's averages.

-- One row per call description. reason is NULL if it has an operation.
CREATE VIEW v_call AS
SELECT d.call_description_id,
       j.run_id,
       r.global_rank AS rank,
       r.name AS rank_name,
       d.rank AS said_rank,
       d.name,
       d.source,
       d.message_bytes,
       d.device,
       d.gpu_serial,
       d.vm,
       d.group_ranks,
       d.peer_rank,
       d.root_rank,
       d.correlation_id,
       d.said_ns / 1e9 AS said_s,
       d.at_ns / 1e3 AS at_us,
       d.process_id,
       j.operation_id,
       j.reason,
       d.call_description_id >> 32 AS file_id,
       d.byte_offset
FROM call_description d
LEFT JOIN call_join j ON j.call_description_id = d.call_description_id
LEFT JOIN job_rank r ON r.job_rank_id = j.job_rank_id;

-- One row per average.
CREATE VIEW v_sample AS
SELECT s.sample_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.at_ns / 1e9, 'unixepoch') AS time,
       s.job,
       s.node,
       s.gpu,
       s.communicator,
       s.node_count,
       s.rank_count,
       f.name AS function,
       s.message_size,
       s.least_bytes,
       a.name AS algorithm,
       p.name AS protocol,
       s.busbw_gbs,
       s.duration_ns / 1e3 AS duration_us,
       s.tag,
       s.sequence,
       s.sample_id >> 32 AS file_id,
       s.byte_offset
FROM sample s
LEFT JOIN vocabulary f ON f.kind = 'function' AND f.number = s.function
LEFT JOIN vocabulary a ON a.kind = 'algorithm' AND a.number = s.algorithm
LEFT JOIN vocabulary p ON p.kind = 'protocol' AND p.number = s.protocol;
