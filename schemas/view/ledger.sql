-- What the files held that did not become an event. damage 1: lost or unreadable; 0: understood, not modelled.
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
JOIN file f ON f.file_id = l.file_id;

-- Events that a recorder itself says it dropped.
CREATE VIEW v_loss AS
SELECT x.loss_id,
       x.process_id,
       x.what,
       x.events,
       x.loss_id >> 32 AS file_id
FROM loss x;
