-- One process with two recorders: NCCL's log and its RAS list calls that a trace of the same process also contains,
-- with times. The trace is used. The log's calls are removed and counted in v_ledger, and its other facts (host, GPU)
-- are assigned to the process of the trace. Changed rows are saved as recorded (schemas/ingest/recorded.sql).

-- statement: is_there
-- One row if there is an NCCL log or a RAS dump.
SELECT 1 FROM file WHERE dialect IN ('nccl-log', 'nccl-ras', 'nccl-torch-log') LIMIT 1;

-- statement: unite
-- For each process in a log, the same process in a trace.
CREATE TEMP TABLE heard AS
SELECT said.process_id, min(seen.process_id) AS as_process
  -- Once for each member, however many files have it.
  FROM (SELECT DISTINCT member_id FROM file JOIN file_member USING (file_id)
         WHERE dialect IN ('nccl-log', 'nccl-ras', 'nccl-torch-log'))
  JOIN member AS said USING (member_id)
  JOIN process AS speaker ON speaker.process_id = said.process_id
  JOIN member AS seen ON seen.communicator_id = said.communicator_id AND seen.rank = said.rank
  JOIN process AS recorder ON recorder.process_id = seen.process_id AND recorder.pid = speaker.pid
 WHERE (EXISTS (SELECT 1 FROM operation_block JOIN file AS trace ON trace.file_id = block_id >> 32
                 WHERE operation_block.member_id = seen.member_id AND trace.dialect NOT IN ('nccl-log', 'nccl-ras', 'nccl-torch-log'))
        -- Or a trace contains operations that a join left out.
        OR EXISTS (SELECT 1 FROM operation_recorded JOIN file AS trace ON trace.file_id = block_id >> 32
                    WHERE operation_recorded.member_id = seen.member_id AND trace.dialect NOT IN ('nccl-log', 'nccl-ras', 'nccl-torch-log')))
 GROUP BY said.process_id;

CREATE TEMP TABLE heard_member AS
SELECT said.member_id, seen.member_id AS as_member
  FROM heard
  JOIN member AS said ON said.process_id = heard.process_id
  JOIN member AS seen ON seen.communicator_id = said.communicator_id AND seen.rank = said.rank
                     AND seen.process_id = heard.as_process;

-- If several logs have the same process, their members that the trace lacks become one.
INSERT INTO heard_member
SELECT said.member_id, first.member_id
  FROM heard JOIN member AS said USING (process_id)
  JOIN (SELECT as_process, communicator_id, rank, min(member_id) AS member_id
          FROM heard JOIN member USING (process_id)
         GROUP BY as_process, communicator_id, rank) AS first
    ON first.as_process = heard.as_process AND first.communicator_id = said.communicator_id AND first.rank = said.rank
 WHERE said.member_id <> first.member_id AND said.member_id NOT IN (SELECT member_id FROM heard_member);

CREATE TEMP TABLE heard_block AS
SELECT block_id FROM heard_member JOIN operation_block USING (member_id) JOIN file ON file.file_id = block_id >> 32
 WHERE file.dialect IN ('nccl-log', 'nccl-ras', 'nccl-torch-log');

INSERT OR REPLACE INTO operation_recorded (/* columns of a block */, doubles, repeated_by)
SELECT /* columns of a block */, 0, 1
  FROM heard_block JOIN operation_block USING (block_id);
/* records of heard are kept */
INSERT OR IGNORE INTO file_member_recorded
SELECT * FROM file_member WHERE member_id IN (SELECT member_id FROM heard_member WHERE member_id <> as_member);
INSERT OR IGNORE INTO member_recorded
SELECT * FROM member WHERE process_id IN (SELECT process_id FROM heard WHERE process_id <> as_process);
INSERT OR IGNORE INTO process_recorded
SELECT * FROM process WHERE process_id IN (SELECT process_id FROM heard WHERE process_id <> as_process);
INSERT OR REPLACE INTO fact (name, value) SELECT 'set_aside', 1 FROM heard LIMIT 1;

DELETE FROM operation_join_block WHERE block_id IN (SELECT block_id FROM heard_block);
DELETE FROM operation_block WHERE block_id IN (SELECT block_id FROM heard_block);

UPDATE process_fact
   SET host = coalesce(host, (SELECT nullif(process.host, '') FROM process WHERE process.process_id = process_fact.process_id))
 WHERE process_id IN (SELECT process_id FROM heard);
-- A damaged line of the log is not a loss, because the trace is used.
DELETE FROM loss
 WHERE process_id IN (SELECT process_id FROM heard)
   AND (SELECT dialect FROM file WHERE file_id = loss_id >> 32) = 'nccl-log';
/* records of heard are moved */
DELETE FROM file_member WHERE member_id IN (SELECT member_id FROM heard_member WHERE member_id <> as_member);
DELETE FROM member WHERE member_id IN (SELECT member_id FROM heard_member WHERE member_id <> as_member);
UPDATE member SET process_id = (SELECT as_process FROM heard WHERE heard.process_id = member.process_id)
 WHERE process_id IN (SELECT process_id FROM heard);
DELETE FROM changed_process WHERE process_id IN (SELECT process_id FROM heard WHERE process_id <> as_process);
DELETE FROM process WHERE process_id IN (SELECT process_id FROM heard WHERE process_id <> as_process);

DROP TABLE heard_block;
DROP TABLE heard_member;
DROP TABLE heard;
