-- What the delay analysis reads of one run. ?1 is the run.

-- statement: list
SELECT run_id FROM run ORDER BY run_id;

-- Runs that may be pieces of one job, most of whose files are lost: one rank of several spoke.
-- statement: pieces
SELECT count(*) FROM run WHERE rank_count = 1 AND expected_ranks > 1;

-- Of the files that speak of the run, and in their order, so that nothing has to be sorted here: an operation's traffic
-- is in its own file.
-- statement: traffic
SELECT proxy_operation.operation_id, direction, channel, proxy_operation.peer, schedule_begin_ns,
       progress_begin_ns, progress_end_ns, steps
  FROM file
 CROSS JOIN proxy_operation ON proxy_operation_id BETWEEN file_id << 32 AND (file_id << 32) + 4294967295
 WHERE operation_id IS NOT NULL
   AND file_id IN (SELECT file_id FROM job_rank CROSS JOIN member_join USING (job_rank_id)
                    CROSS JOIN file_member USING (member_id) WHERE run_id = ?1)
 ORDER BY file_id, proxy_operation_id;

-- How many there are, without unpacking any.
-- statement: operation_count
SELECT coalesce(sum(operation_block.operations), 0)
  FROM job_rank
 CROSS JOIN member_join ON member_join.job_rank_id = job_rank.job_rank_id
 CROSS JOIN operation_block ON operation_block.member_id = member_join.member_id
 WHERE job_rank.run_id = ?1;

-- A row where there is any.
-- statement: has_traffic
SELECT 1
  FROM job_rank
 CROSS JOIN member_join USING (job_rank_id)
 CROSS JOIN file_member USING (member_id)
 CROSS JOIN proxy_operation ON proxy_operation_id BETWEEN file_id << 32 AND (file_id << 32) + 4294967295
 WHERE run_id = ?1 AND operation_id IS NOT NULL
 LIMIT 1;

-- The files that speak of a run are those of its members.
-- statement: damage
SELECT coalesce(sum(ledger.count), 0)
  FROM ledger WHERE damage = 1 AND file_id IN (
      SELECT file_id FROM file_member JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
       WHERE run_id = ?1);

-- Of that, where there is any, the lines that were cut where a log was cut into parts: at the very beginning or end of one
-- of several logs of a process. Such a line may stand whole in the other part; else its number is missing.
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
-- As in v_dropped. A process may drive several ranks, and is counted once.
SELECT coalesce(sum(events), 0)
  FROM (SELECT CASE WHEN is_total THEN max(events) ELSE sum(events) END AS events
          FROM loss
         WHERE process_id IN (SELECT member.process_id FROM member JOIN member_join USING (member_id)
                                JOIN job_rank USING (job_rank_id) WHERE run_id = ?1)
         GROUP BY process_id, member_id, what, is_total);

-- Of those the operations of which a recorder says that it overwrote them: where they lie between others of their sequence
-- they are missing there as well.
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

-- Whether a recorder was at work that may leave point-to-point operations out: Inspector, always before NCCL 2.30
-- and later where that is not asked for.
-- statement: blind_to_pairs
SELECT count(*) > 0 FROM file
 WHERE dialect GLOB 'inspector*' AND dialect NOT GLOB '*ncclprof*'
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- Whether everything comes from a recorder that only lists what finished: Inspector.
-- statement: finished_only
SELECT count(*) = 0 FROM file
 WHERE dialect NOT GLOB 'inspector*'
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- Whether everything comes from what tells which calls were made and not what became of them: NCCL's log and its RAS.
-- statement: calls_only
SELECT count(*) = 0 FROM file
 WHERE dialect NOT IN ('nccl-log', 'nccl-ras')
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- Whether everything comes from a recorder that tells how far each call came: Flight Recorder, and PyTorch's log.
-- statement: tells_states
SELECT count(*) = 0 FROM file
 WHERE dialect NOT GLOB 'flight-recorder*' AND dialect <> 'torch-log'
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- What NCCL's RAS saw of a job that may still run: no row where it was not asked, else whether some rank launched something
-- between its last two dumps, and the time between them; NULL where there is one dump only. Dumps that tell no counts do not
-- count. Of how many ranks counts are known.
-- statement: watched
SELECT max(before <> enqueued), min(at_ns - before_ns), count(*)
  FROM (SELECT enqueued, at_ns, row_number() OVER of_member AS back,
               lead(enqueued) OVER of_member AS before, lead(at_ns) OVER of_member AS before_ns
          FROM group_status JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
         WHERE run_id = ?1 AND (SELECT dialect FROM file WHERE file_id = group_status_id >> 32) = 'nccl-ras'
           AND enqueued IS NOT NULL
        WINDOW of_member AS (PARTITION BY member_id ORDER BY at_ns DESC, group_status_id DESC))
 WHERE back = 1
HAVING EXISTS (SELECT 1 FROM file JOIN file_member USING (file_id) JOIN member_join USING (member_id)
                 JOIN job_rank USING (job_rank_id) WHERE run_id = ?1 AND dialect = 'nccl-ras');

-- Whether all dumps of Flight Recorder were written within a second of the last call in them, as they are on demand: a
-- watchdog waits for longer, and looks once in a second. Copies may keep whole seconds only. What a log says of a timeout is
-- against it.
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

-- How far ranks say that they came.
-- statement: progress
SELECT member_id, enqueued, completed
  FROM group_status JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
 WHERE run_id = ?1 ORDER BY group_status_id;

-- From where operations were called, as descriptions of the calls say.
-- statement: described
SELECT operation_id, source FROM call_join CROSS JOIN call_description USING (call_description_id)
 WHERE run_id = ?1 AND operation_id IS NOT NULL AND source IS NOT NULL ORDER BY operation_id, call_description_id;

-- Whether everything comes from recorders that were on for a while only, whatever the job did then: profilers of frameworks.
-- statement: is_windows
SELECT count(*) = 0 FROM file
 WHERE dialect NOT GLOB 'kineto*'
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- Whether NCCL gave kernels of other operations, which were left out (ncclprof-formats(5)).
-- Bits: 1 after what a rank sent to itself, 2 after a Broadcast.
-- statement: astray_kernels
SELECT coalesce(max(reason = 'kernel channel of another operation'), 0) +
       2 * coalesce(max(reason = 'kernel channel of another operation after a Broadcast'), 0)
  FROM ledger
 WHERE reason IN ('kernel channel of another operation', 'kernel channel of another operation after a Broadcast')
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- Operations all of whose kernel channels began before they were enqueued.
-- statement: kernels_before
SELECT coalesce(sum(count), 0)
  FROM ledger
 WHERE reason = 'operation whose kernel began before it'
   AND file_id IN (SELECT file_id FROM file_member JOIN member_join USING (member_id)
                     JOIN job_rank USING (job_rank_id) WHERE run_id = ?1);

-- Until when the recorder of a rank's process is known to have been there, by what it writes beside operations: readings
-- of clocks, and tags.
-- statement: seen_until
SELECT job_rank_id, max(at_ns)
  FROM (SELECT job_rank_id, local_ns AS at_ns
          FROM job_rank CROSS JOIN clock_anchor USING (process_id) WHERE run_id = ?1
        UNION ALL
        SELECT job_rank_id, (SELECT max(at_ns) FROM tag_mark WHERE tag_mark.process_id = job_rank.process_id)
          FROM job_rank WHERE run_id = ?1)
 GROUP BY job_rank_id HAVING max(at_ns) IS NOT NULL;

-- Ranks whose recorder tells of an operation without an end only once it was pending for a second.
-- statement: told_late
SELECT DISTINCT member_join.job_rank_id
  FROM file JOIN file_member USING (file_id) JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
 WHERE run_id = ?1 AND dialect = 'chrome-ncclprof';

-- Ranks a Chrome trace of whose stops without its end (Inspector logs have none): the process died while it wrote, or the file was cut. And
-- whether it stops in the middle of something, too. Of NCCL's log, whose last line is not whole, or where lines of theirs were lost.
-- statement: cut
SELECT member_join.job_rank_id,
       max(EXISTS (SELECT 1 FROM ledger AS open
                    WHERE open.file_id = ledger.file_id AND open.reason = 'begin without end'))
  FROM ledger JOIN file USING (file_id) JOIN file_member USING (file_id) JOIN member_join USING (member_id)
  JOIN job_rank USING (job_rank_id)
 WHERE run_id = ?1
   AND (((dialect GLOB 'chrome*' OR dialect IN ('nccl-log', 'torch-log')) AND reason IN ('file ends before its array does', 'trace is open'))
        OR (dialect GLOB 'flight-recorder*' AND reason IN ('unreadable rest of the dump', 'unreadable rest of the file')))
 GROUP BY member_join.job_rank_id
UNION ALL
SELECT DISTINCT job_rank_id, 1
  FROM job_rank CROSS JOIN loss USING (process_id)
 WHERE run_id = ?1 AND what = 'lines torn by those of others' AND (SELECT dialect FROM file WHERE file_id = loss_id >> 32) = 'nccl-log'
UNION ALL
-- And ranks whose recorder stopped while they went on.
SELECT DISTINCT member_join.job_rank_id, 2
  FROM ledger JOIN file_member USING (file_id) JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
 WHERE run_id = ?1 AND reason = 'recording stopped';

-- How many ranks' recorders stopped while they went on, which of them first, and when and why. A time comes before the reason.
-- statement: stopped
SELECT count(DISTINCT job_rank_id), job_rank_id, min(example)
  FROM ledger JOIN file_member USING (file_id) JOIN member_join USING (member_id) JOIN job_rank USING (job_rank_id)
 WHERE run_id = ?1 AND reason = 'recording stopped';

-- Where the row ?1 of an operation was read, and when it began by the clock of its process: the call, else what came of it.
-- statement: record
SELECT file.path, byte_offset, coalesce(enqueue_begin_ns, api_begin_ns, device_begin_ns),
       file.dialect GLOB 'inspector*' OR file.dialect GLOB 'flight-recorder*'
  FROM operation JOIN file ON file_id = operation_id >> 32
 WHERE operation_id = ?1;

-- The nearest of the moments that process ?1 read on its own clock and on the wall clock at once, to ?2 on the former.
-- statement: wall_clock
SELECT local_ns, realtime_ns FROM clock_anchor
 WHERE process_id = ?1 AND realtime_ns IS NOT NULL
 ORDER BY abs(local_ns - ?2) LIMIT 1;
