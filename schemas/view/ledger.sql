-- Skipped input; operations that another record or recorder contains as well; events that a recorder reports as dropped (by process,
-- with the first file that reports it); contradictions between files (likewise); and call descriptions without an operation.
-- damage is 1 for lost or unreadable input, 0 for input that was understood but not stored.
CREATE VIEW v_ledger AS
SELECT f.file_id,
       f.path,
       f.dialect,
       l.reason,
       l.damage,
       l.count,
       l.first_offset,
       l.example
FROM ledger l
JOIN file f ON f.file_id = l.file_id
UNION ALL
SELECT f.file_id,
       f.path,
       f.dialect,
       CASE WHEN w.process_id IS NULL THEN 'duplicate operation' ELSE 'operation that another recorder tells, too' END,
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
       CASE r.repeated_by WHEN 1 THEN 'call that a trace records, too' ELSE 'call of an older dump' END,
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
       c.other || ' beside ' || c.kept
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
       c.other || ' beside ' || c.kept
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
SELECT x.loss_id,
       x.process_id,
       x.what,
       x.events,
       x.member_id,
       x.is_total,
       x.loss_id >> 32 AS file_id
FROM loss x;

-- The same, summed: one row per process, member (NULL: the process as a whole) and kind.
CREATE VIEW v_dropped AS
SELECT process_id,
       member_id,
       what,
       CASE WHEN is_total THEN max(events) ELSE sum(events) END AS events
FROM loss
GROUP BY process_id, member_id, what, is_total;
