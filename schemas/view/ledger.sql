-- What the files held that did not become an event, or an operation that another record tells of, too. damage 1: lost or
-- unreadable; 0: understood, not modelled.
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
       'duplicate operation',
       0,
       sum(r.doubles),
       min(r.first_double),
       NULL
FROM operation_recorded r
JOIN file f ON f.file_id = r.block_id >> 32
WHERE r.doubles > 0
GROUP BY f.file_id;

-- Events that a recorder itself says it dropped.
CREATE VIEW v_loss AS
SELECT x.loss_id,
       x.process_id,
       x.what,
       x.events,
       x.loss_id >> 32 AS file_id
FROM loss x;
