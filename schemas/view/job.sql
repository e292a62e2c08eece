-- One row a communicator.
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
       c.node_count
FROM communicator c
LEFT JOIN communicator_join cj ON cj.communicator_id = c.communicator_id;

-- One row a rank of a job. host is NULL where the dialect does not say; process_id NULL: known from its peers only.
CREATE VIEW v_rank AS
SELECT r.run_id,
       r.global_rank AS rank,
       r.name AS rank_name,
       r.process_id,
       nullif(p.host, '') AS host,
       nullif(p.pid, -1) AS pid,
       p.file_set
FROM job_rank r
LEFT JOIN process p ON p.process_id = r.process_id;

-- One row a user tag as it was set. communicator_id NULL: for every communicator of the process.
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
