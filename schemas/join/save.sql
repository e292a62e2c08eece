-- What lib/join writes: the derived tables, whole.

-- statement: clear
DELETE FROM operation_join;
DELETE FROM instance;
DELETE FROM communicator_join;
DELETE FROM member_join;
DELETE FROM job_rank;
DELETE FROM run;

-- statement: run
INSERT INTO run (run_id, rank_count, expected_ranks, step_count, step_source, global_ranks)
VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- statement: job_rank
INSERT INTO job_rank (job_rank_id, run_id, process_id, global_rank, name) VALUES (?1, ?2, ?3, ?4, ?5);

-- statement: member
INSERT INTO member_join (member_id, job_rank_id) VALUES (?1, ?2);

-- statement: communicator
INSERT INTO communicator_join (communicator_id, run_id, size, size_is_known, label) VALUES (?1, ?2, ?3, ?4, ?5);

-- statement: instance
INSERT INTO instance (instance_id, run_id, communicator_id, kind, function, sequence, sender, receiver, size_bytes,
                      members, expected, transfer_ns, effective_ns, last_member_id, margin_ns, tag, step)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17);

-- statement: operation
INSERT INTO operation_join (operation_id, instance_id, step, tag) VALUES (?1, ?2, ?3, ?4);

-- The same for sixteen at once, half as dear for each: there may be millions.
-- statement: operations
INSERT INTO operation_join (operation_id, instance_id, step, tag) VALUES
    (?1, ?2, ?3, ?4), (?5, ?6, ?7, ?8), (?9, ?10, ?11, ?12), (?13, ?14, ?15, ?16),
    (?17, ?18, ?19, ?20), (?21, ?22, ?23, ?24), (?25, ?26, ?27, ?28), (?29, ?30, ?31, ?32),
    (?33, ?34, ?35, ?36), (?37, ?38, ?39, ?40), (?41, ?42, ?43, ?44), (?45, ?46, ?47, ?48),
    (?49, ?50, ?51, ?52), (?53, ?54, ?55, ?56), (?57, ?58, ?59, ?60), (?61, ?62, ?63, ?64);
