-- Skipped input; operations that another record or recorder also contains; events that a recorder reports as dropped
-- (by process, with the first file that reports it); contradictions between files (by process, with the first file);
-- and call descriptions without an operation. damage is 1 for lost or unreadable input, 0 for input that was understood
-- but not stored.
CREATE VIEW v_ledger AS
SELECT f.file_id, -- integer: file
       f.path, -- text: path of the file
       f.dialect, -- text: format and version of the file
       l.reason, -- text: why the input gave no event
       l.damage, -- integer: 1: lost or unreadable; 0: understood, but not stored
       l.count, -- integer: number of occurrences
       l.first_offset, -- integer bytes: byte offset of the first occurrence in the unpacked file
       l.example -- text: text of the first occurrence, shortened
FROM ledger l
JOIN file f ON f.file_id = l.file_id
UNION ALL
SELECT f.file_id,
       f.path,
       f.dialect,
       CASE WHEN w.process_id IS NULL THEN 'duplicate operation' ELSE 'operation that another recorder also contains' END,
       0,
       sum(r.doubles),
       min(r.first_double),
       NULL
FROM operation_recorded r
JOIN file f ON f.file_id = r.block_id >> 32
LEFT JOIN member m ON m.member_id = r.member_id
LEFT JOIN witness w ON w.process_id = m.process_id
WHERE r.doubles > 0
GROUP BY f.file_id, w.process_id IS NULL
UNION ALL
SELECT f.file_id,
       f.path,
       f.dialect,
       CASE r.repeated_by WHEN 1 THEN 'call that a trace also contains' ELSE 'call of an older dump' END,
       0,
       sum(r.operations),
       0,
       NULL
FROM operation_recorded r
JOIN file f ON f.file_id = r.block_id >> 32
WHERE r.repeated_by <> 0
GROUP BY f.file_id, r.repeated_by
UNION ALL
SELECT f.file_id,
       f.path,
       f.dialect,
       'contradicting ' || c.what,
       0,
       c.count,
       NULL,
       c.other || ' instead of ' || c.kept
FROM witness_contradiction c
JOIN file f ON f.file_id = (SELECT min(fm.file_id) FROM member m JOIN file_member fm ON fm.member_id = m.member_id
                            WHERE m.process_id = c.process_id)
UNION ALL
SELECT f.file_id,
       f.path,
       f.dialect,
       'dropped by the recorder: ' || d.what,
       1,
       sum(d.events),
       NULL,
       NULL
FROM v_dropped d
JOIN file f ON f.file_id = (SELECT min(x.loss_id) >> 32 FROM loss x WHERE x.process_id = d.process_id AND x.what = d.what)
WHERE d.events > 0
GROUP BY d.process_id, d.what
UNION ALL
SELECT f.file_id,
       f.path,
       f.dialect,
       'contradicting ' || c.what,
       0,
       count(*),
       NULL,
       c.other || ' instead of ' || c.kept
FROM contradiction c
JOIN file f ON f.file_id = (SELECT min(fm.file_id) FROM member m JOIN file_member fm ON fm.member_id = m.member_id
                            WHERE m.process_id = c.process_id)
GROUP BY f.file_id, c.what
UNION ALL
SELECT f.file_id,
       f.path,
       f.dialect,
       j.reason,
       0,
       count(*),
       min(d.byte_offset),
       min(d.name || ' at ' || coalesce(d.source, 'no line'))
FROM call_join j
JOIN call_description d ON d.call_description_id = j.call_description_id
JOIN file f ON f.file_id = j.call_description_id >> 32
WHERE j.operation_id IS NULL
GROUP BY f.file_id, j.reason;

-- Events that a recorder reports as dropped, as reported. is_total is 1 if each row is the total so far.
CREATE VIEW v_loss AS
SELECT x.loss_id, -- integer: number of the record
       x.process_id, -- integer: process
       x.what, -- text: kind of event
       x.events, -- integer: number of occurrences
       x.member_id, -- integer: rank of a communicator; NULL: the process as a whole
       x.is_total, -- integer: 1: total so far; 0: since the previous record
       x.loss_id >> 32 AS file_id -- integer: file
FROM loss x;

-- The same, summed: one row per process, member (NULL: the process as a whole) and kind.
CREATE VIEW v_dropped AS
SELECT process_id, -- integer: process
       member_id, -- integer: rank of a communicator; NULL: the process as a whole
       what, -- text: kind of event
       CASE WHEN is_total THEN max(events) ELSE sum(events) END AS events -- integer: number of occurrences
FROM loss
GROUP BY process_id, member_id, what, is_total;
