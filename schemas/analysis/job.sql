-- Queries with which the delay analysis loads one run. ?1 is the run.

-- statement: list
SELECT run_id FROM run ORDER BY run_id;

-- Runs that may be pieces of one job most of whose files are missing: only one of several ranks has a file.
-- statement: pieces
SELECT count(*) FROM run WHERE rank_count = 1 AND expected_ranks > 1;

-- Reads the files of the run in their order, so that little needs to be sorted: the traffic of an operation is in the
-- same file, unless another process made it (PXN).
-- statement: traffic
SELECT proxy_operation.operation_id, direction, proxy_operation.peer, progress_begin_ns, progress_end_ns, steps,
       operation_id >> 32 <> file_id
  FROM file
 CROSS JOIN proxy_operation ON proxy_operation_id BETWEEN file_id << 32 AND (file_id << 32) + 4294967295
 WHERE operation_id IS NOT NULL
   AND file_id IN (SELECT file_id FROM job_rank CROSS JOIN member_join USING (job_rank_id)
                    CROSS JOIN file_member USING (member_id) WHERE run_id = ?1)
 ORDER BY file_id, proxy_operation_id;

-- The number of operations, without unpacking any block.
-- statement: operation_count
SELECT coalesce(sum(operation_block.operations), 0)
  FROM job_rank
 CROSS JOIN member_join ON member_join.job_rank_id = job_rank.job_rank_id
 CROSS JOIN operation_block ON operation_block.member_id = member_join.member_id
 WHERE job_rank.run_id = ?1;

-- One row if there is any network traffic.
-- statement: has_traffic
SELECT 1
  FROM job_rank
 CROSS JOIN member_join USING (job_rank_id)
 CROSS JOIN file_member USING (member_id)
 CROSS JOIN proxy_operation ON proxy_operation_id BETWEEN file_id << 32 AND (file_id << 32) + 4294967295
 WHERE run_id = ?1 AND operation_id IS NOT NULL
 LIMIT 1;

-- The files of a run are those with records of its members.
-- statement: damage
SELECT coalesce(sum(ledger.count), 0)
  FROM ledger WHERE damage = 1 AND file_id IN (
      SELECT file_id FROM file_member JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
       WHERE run_id = ?1);

-- The part of that damage that comes from lines cut when a log was split: a damaged line at the very beginning or end
-- of one of several logs of a process. The other log may contain the whole line; if not, its sequence number is
-- missing.
-- statement: cut_lines
SELECT count(*)
  FROM ledger JOIN file USING (file_id)
 WHERE damage = 1 AND ledger.count = 1 AND dialect GLOB 'inspector*'
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
                    WHERE run_id = ?1)
   AND EXISTS (SELECT 1 FROM file_member here JOIN file_member other USING (member_id)
                WHERE here.file_id = ledger.file_id AND other.file_id <> here.file_id)
   AND (first_offset = 0
        OR NOT EXISTS (SELECT 1 FROM operation
                        WHERE operation_id >= ledger.file_id << 32 AND operation_id < (ledger.file_id + 1) << 32
                          AND byte_offset > first_offset));

-- statement: losses
-- As in v_dropped. A process that drives several ranks is counted once.
SELECT coalesce(sum(events), 0)
  FROM (SELECT CASE WHEN is_total THEN max(events) ELSE sum(events) END AS events
          FROM loss
         WHERE process_id IN (SELECT member.process_id FROM member JOIN member_join USING (member_id)
                                JOIN job_rank USING (job_rank_id) WHERE run_id = ?1)
         GROUP BY process_id, member_id, what, is_total);

-- The part of these that a recorder reports as overwritten operations: if they lie between other operations of their
-- sequence, they are also missing there.
-- statement: overwritten
SELECT coalesce(sum(events), 0)
  FROM (SELECT max(events) AS events
          FROM loss
         WHERE is_total
           AND what IN ('collectives overwritten before they were written',
                        'point-to-point operations overwritten before they were written')
           AND process_id IN (SELECT member.process_id FROM member JOIN member_join USING (member_id)
                                JOIN job_rank USING (job_rank_id) WHERE run_id = ?1)
         GROUP BY process_id, member_id, what);

-- Whether a recorder may have left out point-to-point operations: Inspector before NCCL 2.30, and later unless they are
-- enabled.
-- statement: blind_to_pairs
SELECT count(*) > 0 FROM file
 WHERE dialect GLOB 'inspector*' AND dialect NOT GLOB '*ncclprof*'
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- Whether all data comes from Inspector, which records only operations that finished.
-- statement: finished_only
SELECT count(*) = 0 FROM file
 WHERE dialect NOT GLOB 'inspector*'
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- Whether all data comes from NCCL's log and RAS, which show which calls were made but not how they ended.
-- statement: calls_only
SELECT count(*) = 0 FROM file
 WHERE dialect NOT IN ('nccl-log', 'nccl-ras')
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- Whether all data comes from recorders that show the progress of each call: Flight Recorder and PyTorch's log.
-- statement: tells_states
SELECT count(*) = 0 FROM file
 WHERE dialect NOT GLOB 'flight-recorder*' AND dialect NOT IN ('torch-log', 'nccl-torch-log')
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- What NCCL's RAS saw of a job that may still be running. No row without RAS; else whether any rank launched an
-- operation between its last two dumps (`started` also counts sends and receives), and the time between these (NULL if
-- there is only one dump), and the number of ranks with known counts. Dumps without counts are ignored.
-- statement: watched
SELECT max(before <> launched), min(at_ns - before_ns), count(*)
  FROM (SELECT coalesce(started, enqueued) AS launched, at_ns, row_number() OVER of_member AS back,
               lead(coalesce(started, enqueued)) OVER of_member AS before, lead(at_ns) OVER of_member AS before_ns
          FROM group_status JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
         WHERE run_id = ?1 AND (SELECT dialect FROM file WHERE file_id = group_status_id >> 32) = 'nccl-ras'
           AND enqueued IS NOT NULL
        WINDOW of_member AS (PARTITION BY member_id ORDER BY at_ns DESC, group_status_id DESC))
 WHERE back = 1
HAVING EXISTS (SELECT 1 FROM file JOIN file_member USING (file_id) JOIN member_join USING (member_id)
                 JOIN job_rank USING (job_rank_id) WHERE run_id = ?1 AND dialect = 'nccl-ras');

-- Whether all Flight Recorder dumps were written within a second of their last call, as dumps on demand are: a watchdog
-- waits longer and checks once per second. Copied files may have whole seconds only. A timeout reported in a log
-- contradicts it.
-- statement: dumped_running
SELECT coalesce(min(coalesce(modified_ns - (SELECT max(latest_ns) FROM operation_block
                                             WHERE block_id BETWEEN file_id << 32 AND (file_id << 32) + 4294967295)
                             BETWEEN -1000000000 AND 1000000000, 0)), 0)
       AND NOT EXISTS (SELECT 1 FROM group_status
                        WHERE timed_out IS NOT NULL
                          AND (process_id IN (SELECT process_id FROM job_rank WHERE run_id = ?1) OR
                               process_id IN (SELECT witness.process_id FROM witness JOIN job_rank
                                                  ON as_process_id = job_rank.process_id WHERE run_id = ?1)))
  FROM file
 WHERE file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- The progress that ranks report.
-- statement: progress
SELECT member_id, enqueued, completed
  FROM group_status JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
 WHERE run_id = ?1 ORDER BY group_status_id;

-- The source lines from which operations were called, from call descriptions.
-- statement: described
SELECT operation_id, source FROM call_join CROSS JOIN call_description USING (call_description_id)
 WHERE run_id = ?1 AND operation_id IS NOT NULL AND source IS NOT NULL ORDER BY operation_id, call_description_id;

-- Whether all data comes from recorders that ran only for a part of the job: profilers of frameworks.
-- statement: is_windows
SELECT count(*) = 0 FROM file
 WHERE dialect NOT GLOB 'kineto*'
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- Whether NCCL recorded kernels of other operations, which were left out (ncclprof-formats(5)). Bits: 1 after a send of
-- a rank to itself, 2 after a Broadcast.
-- statement: astray_kernels
SELECT coalesce(max(reason = 'kernel channel of another operation'), 0) +
       2 * coalesce(max(reason = 'kernel channel of another operation after a Broadcast'), 0)
  FROM ledger
 WHERE reason IN ('kernel channel of another operation', 'kernel channel of another operation after a Broadcast')
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- Operations whose kernel channels all began before the operation was enqueued.
-- statement: kernels_before
SELECT coalesce(sum(count), 0)
  FROM ledger
 WHERE reason = 'operation whose kernel began before it'
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- The latest time at which the recorder of a rank's process is known to have been running, from its clock anchors and
-- tags. Also that of its last clock anchor.
-- statement: seen_until
SELECT job_rank_id, max(at_ns), max(anchor_ns)
  FROM (SELECT job_rank_id, local_ns AS at_ns, local_ns AS anchor_ns
          FROM job_rank CROSS JOIN clock_anchor USING (process_id) WHERE run_id = ?1
        UNION ALL
        SELECT job_rank_id, (SELECT max(at_ns) FROM tag_mark WHERE tag_mark.process_id = job_rank.process_id), NULL
          FROM job_rank WHERE run_id = ?1)
 GROUP BY job_rank_id HAVING max(at_ns) IS NOT NULL;

-- Ranks whose recorder writes an operation without an end only after it was pending for a second.
-- statement: told_late
SELECT DISTINCT member_join.job_rank_id
  FROM file JOIN file_member USING (file_id) JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
 WHERE run_id = ?1 AND dialect = 'chrome-ncclprof';

-- Ranks whose Chrome trace has no end (Inspector logs never have one): the process died while it wrote, or the file was
-- truncated. Also whether the trace stops in the middle of a record. For NCCL's log: the last line is incomplete, or
-- lines of the rank were lost.
-- statement: cut
SELECT member_join.job_rank_id,
       max(EXISTS (SELECT 1 FROM ledger AS open
                    WHERE open.file_id = ledger.file_id AND open.reason = 'begin without end'))
  FROM ledger JOIN file USING (file_id) JOIN file_member USING (file_id) JOIN member_join USING (member_id)
  JOIN job_rank USING (job_rank_id)
 WHERE run_id = ?1
   AND (((dialect GLOB 'chrome*' OR dialect IN ('nccl-log', 'torch-log', 'nccl-torch-log')) AND reason IN ('file ends before its array does', 'trace is open'))
        OR (dialect GLOB 'flight-recorder*' AND reason IN ('unreadable rest of the dump', 'unreadable rest of the file')))
 GROUP BY member_join.job_rank_id
UNION ALL
SELECT DISTINCT job_rank_id, 1
  FROM job_rank CROSS JOIN loss USING (process_id)
 WHERE run_id = ?1 AND what = 'lines torn by those of others' AND (SELECT dialect FROM file WHERE file_id = loss_id >> 32) IN ('nccl-log', 'nccl-torch-log')
UNION ALL
-- And ranks whose recorder stopped before they did.
SELECT DISTINCT member_join.job_rank_id, 2
  FROM ledger JOIN file_member USING (file_id) JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
 WHERE run_id = ?1 AND reason = 'recording stopped';

-- The number of ranks whose recorder stopped before they did, and the first of them with time and reason. A time sorts
-- before the reason.
-- statement: stopped
SELECT count(DISTINCT job_rank_id), job_rank_id, min(example)
  FROM ledger JOIN file_member USING (file_id) JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
 WHERE run_id = ?1 AND reason = 'recording stopped';

-- The file and offset of operation ?1, and when it began by the clock of its process: its call, or else what followed.
-- statement: record
SELECT file.path, byte_offset, coalesce(enqueue_begin_ns, api_begin_ns, device_begin_ns),
       file.dialect GLOB 'inspector*' OR file.dialect GLOB 'flight-recorder*'
  FROM operation JOIN file ON file_id = operation_id >> 32
 WHERE operation_id = ?1;

-- The clock anchor of process ?1 nearest to ?2, a time on the process's own clock.
-- statement: wall_clock
SELECT local_ns, realtime_ns FROM clock_anchor
 WHERE process_id = ?1 AND realtime_ns IS NOT NULL
 ORDER BY abs(local_ns - ?2) LIMIT 1;

-- The tags that were set in the run, with and without operations, in the order in which files have them. No order here
-- depends on which file was read first.
-- statement: mark_texts
SELECT text FROM tag_mark
 WHERE process_id IN (SELECT process_id FROM job_rank WHERE run_id = ?1) AND text IS NOT NULL
 GROUP BY text ORDER BY min(tag_mark_id & 4294967295), text;

-- The tags that process ?1 set for rank ?2, by time: those for all its communicators, and those for the communicator of
-- the rank for which it set most.
-- statement: marks
SELECT at_ns, depth, is_end, text FROM tag_mark
 WHERE process_id = ?1
   AND (member_id IS NULL
        OR member_id = (SELECT member_id FROM tag_mark JOIN member_join USING (member_id)
                         WHERE process_id = ?1 AND job_rank_id = ?2
                         GROUP BY member_id ORDER BY count(*) DESC, min(at_ns), member_id LIMIT 1))
 ORDER BY at_ns, tag_mark_id;
