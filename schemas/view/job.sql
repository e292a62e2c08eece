-- One row per communicator, except those that only a second recorder of the job has: the first recorder's are listed.
CREATE VIEW v_communicator AS
SELECT c.communicator_id, -- integer: number of the communicator
       cj.run_id, -- integer: run
       coalesce(cj.label, c.name) AS communicator, -- text: label: name of the communicator, or its global ranks
       printf('%u', c.hash) AS communicator_hash, -- text: NCCL's hash, decimal
       printf('0x%016x', c.hash) AS communicator_hash_hex, -- text: NCCL's hash, hexadecimal
       c.name, -- text: name of the communicator in the trace
       coalesce(cj.size, c.size) AS size, -- integer: ranks in it
       coalesce(cj.size_is_known, c.size IS NOT NULL) AS size_is_known, -- integer: 1: a trace contains the size; 0: the size is a lower bound
       (SELECT count(DISTINCT m.rank) FROM member m WHERE m.communicator_id = c.communicator_id) AS ranks_seen, -- integer: ranks in it with a record
       c.node_count, -- integer: number of hosts that it spans
       c.member_list, -- text: global ranks in it, in the order of the communicator, as JSON
       c.description -- text: description by the framework
FROM communicator c
LEFT JOIN communicator_join cj ON cj.communicator_id = c.communicator_id
WHERE NOT EXISTS (SELECT 1 FROM witness)
   OR EXISTS (SELECT 1 FROM member m WHERE m.communicator_id = c.communicator_id
                                       AND m.process_id NOT IN (SELECT process_id FROM witness));

-- Facts in files about the process of a rank, one row for each file with facts. Facts about the rank itself (of_process
-- 0) take precedence over facts about its process (1), and of each the first is used. Those of another recorder (2)
-- come last.
CREATE VIEW v_rank_fact AS
SELECT r.job_rank_id, -- integer: number of the rank, unique across runs
       r.run_id, -- integer: run
       r.global_rank AS rank, -- integer: global rank
       r.process_id, -- integer: process that the fact is about
       f.process_fact_id, -- integer: number of the fact
       f.member_id IS NULL AS of_process, -- integer: 0: about the rank alone; 1: about its process; 2: from another recorder
       f.global_rank AS told_rank, -- integer: global rank according to the file
       f.world_size, -- integer: ranks of the job according to the file
       f.local_rank, -- integer: rank on its host
       f.gpu, -- integer: CUDA device number of its GPU in the process
       f.gpu_bus_id, -- text: PCI address of its GPU
       f.gpu_serial, -- text: serial number of its GPU
       f.nic, -- text: network card
       f.host, -- text: host
       f.rank_name AS framework_name, -- text: name of the rank in the framework
       f.process_fact_id >> 32 AS file_id -- integer: file
FROM job_rank r
JOIN process_fact f ON f.process_id = r.process_id
WHERE f.member_id IS NULL
   OR EXISTS (SELECT 1 FROM member_join mj WHERE mj.member_id = f.member_id AND mj.job_rank_id = r.job_rank_id)
UNION ALL
SELECT r.job_rank_id,
       r.run_id,
       r.global_rank,
       w.process_id,
       f.process_fact_id,
       2,
       f.global_rank,
       f.world_size,
       f.local_rank,
       f.gpu,
       f.gpu_bus_id,
       f.gpu_serial,
       f.nic,
       coalesce(f.host, nullif(p.host, '')),
       f.rank_name,
       f.process_fact_id >> 32
FROM job_rank r
JOIN witness w ON w.as_process_id = r.process_id
JOIN process p ON p.process_id = w.process_id
JOIN process_fact f ON f.process_id = w.process_id;

-- One row per rank of a job. host, local_rank and the columns after it are NULL if no file contains them. process_id is NULL
-- if the rank is known only from its peers. framework_name is the name of the rank in its framework.
CREATE VIEW v_rank AS
SELECT r.run_id, -- integer: run
       r.global_rank AS rank, -- integer: global rank
       r.name AS rank_name, -- text: name of the rank: its number, or host and process
       r.process_id, -- integer: process that recorded the rank; NULL: known only from its peers
       coalesce(nullif(p.host, ''), (SELECT f.host FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.host IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1)) AS host, -- text: host
       nullif(p.pid, -1) AS pid, -- integer: process id of the operating system
       p.file_set, -- text: directory of its files
       (SELECT f.local_rank FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.local_rank IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1) AS local_rank, -- integer: rank on its host, as the launcher counts
       coalesce(c.device, (SELECT f.gpu FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.gpu IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1)) AS gpu, -- integer: CUDA device number of its GPU in the process
       (SELECT f.gpu_bus_id FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.gpu_bus_id IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1) AS gpu_bus_id, -- text: PCI address of its GPU
       coalesce(c.gpu_serial, (SELECT f.gpu_serial FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.gpu_serial IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1)) AS gpu_serial, -- text: serial number of its GPU
       c.vm, -- text: virtual machine
       (SELECT f.nic FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.nic IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1) AS nic, -- text: network card
       (SELECT f.framework_name FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.framework_name IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1) AS framework_name, -- text: name of the rank in the framework
       r.job_rank_id -- integer: number of the rank, unique across runs
FROM job_rank r
LEFT JOIN process p ON p.process_id = r.process_id
LEFT JOIN call_place c ON c.job_rank_id = r.job_rank_id;

-- One row per user tag as it was set. communicator_id is NULL if it applies to every communicator of the process.
CREATE VIEW v_tag AS
SELECT t.tag_mark_id, -- integer: number of the mark
       t.process_id, -- integer: process
       m.communicator_id, -- integer: communicator; NULL: all communicators of the process
       m.rank AS communicator_rank, -- integer: rank in the communicator
       r.global_rank AS rank, -- integer: global rank
       t.text AS tag, -- text: text
       t.at_ns / 1e3 AS at_us, -- real us: time, on the clock of the process
       t.depth, -- integer: number of open tags that enclose it
       t.is_end, -- integer: 1: end of the tag
       t.tag_mark_id >> 32 AS file_id -- integer: file
FROM tag_mark t
LEFT JOIN member m ON m.member_id = t.member_id
LEFT JOIN member_join mj ON mj.member_id = t.member_id
LEFT JOIN job_rank r ON r.job_rank_id = mj.job_rank_id;
