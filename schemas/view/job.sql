-- One row per communicator, except those that only a second recorder of the job has: the first recorder's are listed.
CREATE VIEW v_communicator AS
SELECT c.communicator_id,
       cj.run_id,
       coalesce(cj.label, c.name) AS communicator,
       printf('%u', c.hash) AS communicator_hash,
       printf('0x%016x', c.hash) AS communicator_hash_hex,
       c.name,
       coalesce(cj.size, c.size) AS size,
       coalesce(cj.size_is_known, c.size IS NOT NULL) AS size_is_known,
       (SELECT count(DISTINCT m.rank) FROM member m WHERE m.communicator_id = c.communicator_id) AS ranks_seen,
       c.node_count,
       c.member_list,
       c.description
FROM communicator c
LEFT JOIN communicator_join cj ON cj.communicator_id = c.communicator_id
WHERE NOT EXISTS (SELECT 1 FROM witness)
   OR EXISTS (SELECT 1 FROM member m WHERE m.communicator_id = c.communicator_id
                                       AND m.process_id NOT IN (SELECT process_id FROM witness));

-- What files say about the process of a rank, one row per file that says something. Values for the rank itself (of_process 0)
-- count before values for its process (1), and the first of each counts; values of another recorder (2) count last.
CREATE VIEW v_rank_fact AS
SELECT r.job_rank_id,
       r.run_id,
       r.global_rank AS rank,
       r.process_id,
       f.process_fact_id,
       f.member_id IS NULL AS of_process,
       f.global_rank AS told_rank,
       f.world_size,
       f.local_rank,
       f.gpu,
       f.gpu_bus_id,
       f.gpu_serial,
       f.nic,
       f.host,
       f.rank_name AS framework_name,
       f.process_fact_id >> 32 AS file_id
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
SELECT r.run_id,
       r.global_rank AS rank,
       r.name AS rank_name,
       r.process_id,
       coalesce(nullif(p.host, ''), (SELECT f.host FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.host IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1)) AS host,
       nullif(p.pid, -1) AS pid,
       p.file_set,
       (SELECT f.local_rank FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.local_rank IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1) AS local_rank,
       coalesce(c.device, (SELECT f.gpu FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.gpu IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1)) AS gpu,
       (SELECT f.gpu_bus_id FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.gpu_bus_id IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1) AS gpu_bus_id,
       coalesce(c.gpu_serial, (SELECT f.gpu_serial FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.gpu_serial IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1)) AS gpu_serial,
       c.vm,
       (SELECT f.nic FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.nic IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1) AS nic,
       (SELECT f.framework_name FROM v_rank_fact f WHERE f.job_rank_id = r.job_rank_id AND f.framework_name IS NOT NULL
        ORDER BY f.of_process, f.process_fact_id LIMIT 1) AS framework_name,
       r.job_rank_id
FROM job_rank r
LEFT JOIN process p ON p.process_id = r.process_id
LEFT JOIN call_place c ON c.job_rank_id = r.job_rank_id;

-- One row per user tag as it was set. communicator_id is NULL if it applies to every communicator of the process.
CREATE VIEW v_tag AS
SELECT t.tag_mark_id,
       t.process_id,
       m.communicator_id,
       m.rank AS communicator_rank,
       r.global_rank AS rank,
       t.text AS tag,
       t.at_ns / 1e3 AS at_us,
       t.depth,
       t.is_end,
       t.tag_mark_id >> 32 AS file_id
FROM tag_mark t
LEFT JOIN member m ON m.member_id = t.member_id
LEFT JOIN member_join mj ON mj.member_id = t.member_id
LEFT JOIN job_rank r ON r.job_rank_id = mj.job_rank_id;
