-- Call descriptions and their operations (lib/join/call_match.c).

-- statement: descriptions
SELECT call_description_id, process_id, rank, name, message_bytes, said_ns, group_ranks, peer_rank, correlation_id, at_ns
  FROM call_description ORDER BY call_description_id;

-- statement: path
SELECT path FROM file WHERE file_id = ?1;

-- Clock anchors of processes with the wall clock.
-- statement: anchors
SELECT process_id, local_ns, realtime_ns FROM clock_anchor WHERE realtime_ns IS NOT NULL ORDER BY clock_anchor_id;

-- statement: clear
DELETE FROM call_join;
DELETE FROM call_place;

-- statement: put
INSERT INTO call_join (call_description_id, run_id, job_rank_id, operation_id, reason) VALUES (?1, ?2, ?3, ?4, ?5);

-- The first description is used.
-- statement: places
INSERT INTO call_place (job_rank_id, run_id, gpu_serial, vm, device)
SELECT job_rank_id, run_id,
       (SELECT d.gpu_serial FROM call_join i JOIN call_description d USING (call_description_id)
         WHERE i.job_rank_id = j.job_rank_id AND d.gpu_serial IS NOT NULL ORDER BY call_description_id LIMIT 1),
       (SELECT d.vm FROM call_join i JOIN call_description d USING (call_description_id)
         WHERE i.job_rank_id = j.job_rank_id AND d.vm IS NOT NULL ORDER BY call_description_id LIMIT 1),
       (SELECT d.device FROM call_join i JOIN call_description d USING (call_description_id)
         WHERE i.job_rank_id = j.job_rank_id AND d.device IS NOT NULL ORDER BY call_description_id LIMIT 1)
  FROM call_join j WHERE job_rank_id IS NOT NULL GROUP BY job_rank_id;
