-- Descriptions that programs give of their calls, and Inspector's averages.

-- One row per call description. reason is NULL if it has an operation.
CREATE VIEW v_call AS
SELECT d.call_description_id, -- integer: number of the description
       j.run_id, -- integer: run
       r.global_rank AS rank, -- integer: global rank
       r.name AS rank_name, -- text: name of the rank
       d.rank AS said_rank, -- integer: global rank according to the program
       d.name, -- text: name of the call in torch.distributed
       d.source, -- text: line of the program
       d.message_bytes, -- integer bytes: message size as defined by the description: without data that stays on the rank
       d.device, -- integer: CUDA device number of the GPU in the process
       d.gpu_serial, -- text: serial number of the GPU
       d.vm, -- text: virtual machine
       d.group_ranks, -- text: global ranks of the group, as JSON; NULL: all
       d.peer_rank, -- integer: peer, as global rank
       d.root_rank, -- integer: root, as global rank
       d.correlation_id, -- text: the same for all records of one call
       d.said_ns / 1e9 AS said_s, -- real s: time at which it was printed, since 1970
       d.at_ns / 1e3 AS at_us, -- real us: time at which it was marked, on the clock of the process
       d.process_id, -- integer: process
       j.operation_id, -- integer: operation that it describes
       j.reason, -- text: why there is no such operation
       d.call_description_id >> 32 AS file_id, -- integer: file
       d.byte_offset -- integer bytes: byte offset in the unpacked file
FROM call_description d
LEFT JOIN call_join j ON j.call_description_id = d.call_description_id
LEFT JOIN job_rank r ON r.job_rank_id = j.job_rank_id;

-- One row per average.
CREATE VIEW v_sample AS
SELECT s.sample_id, -- integer: number of the sample
       strftime('%Y-%m-%dT%H:%M:%fZ', s.at_ns / 1e9, 'unixepoch') AS time, -- text: time at which the file was written, UTC
       s.job, -- text: job number of the scheduler
       s.node, -- text: host
       s.gpu, -- text: GPU
       s.communicator, -- text: name of the communicator
       s.node_count, -- integer: hosts of the communicator
       s.rank_count, -- integer: ranks of the communicator
       f.name AS function, -- text: NCCL's function
       s.message_size, -- text: range of sizes, as written in the file
       s.least_bytes, -- integer bytes: smallest size in the range
       a.name AS algorithm, -- text: NCCL's algorithm
       p.name AS protocol, -- text: NCCL's protocol
       s.busbw_gbs, -- real GB/s: geometric mean of bus bandwidths, 1e9 bytes per second
       s.duration_ns / 1e3 AS duration_us, -- real us: mean of durations
       s.tag, -- text: user tag
       s.sequence, -- integer: number of the last operation
       s.sample_id >> 32 AS file_id, -- integer: file
       s.byte_offset -- integer bytes: byte offset in the unpacked file
FROM sample s
LEFT JOIN vocabulary f ON f.kind = 'function' AND f.number = s.function
LEFT JOIN vocabulary a ON a.kind = 'algorithm' AND a.number = s.algorithm
LEFT JOIN vocabulary p ON p.kind = 'protocol' AND p.number = s.protocol;
