-- What nodes say of themselves, for the causes of findings (lib/job/node_records.c).

-- statement: has_any
SELECT EXISTS (SELECT 1 FROM node_sample_block) OR EXISTS (SELECT 1 FROM node_event)

-- All hosts of records, with the time that they cover.
-- statement: hosts
SELECT host, min(earliest_ns), max(latest_ns)
  FROM (SELECT host, min(earliest_ns) AS earliest_ns, max(latest_ns) AS latest_ns FROM node_sample_block GROUP BY host
        UNION ALL SELECT host, min(at_ns), max(at_ns) FROM node_event GROUP BY host)
 GROUP BY host ORDER BY host

-- The blocks of the hosts in the JSON list ?1 (a host under several names) that overlap ?2 to ?3, series by series, each in order of time. Totals of two tools are of two counters. Totals up to 15 minutes around count, too.
-- statement: samples
SELECT block_id, place, device, metric, error_ns, divisor, packed, path, dialect
  FROM node_sample_block JOIN file ON file_id = block_id >> 32
 WHERE (host IN (SELECT value FROM json_each(?1)) OR (host IS NULL AND ?1 = '[null]')) AND latest_ns >= ?2 - 900000000000 AND earliest_ns <= ?3 + 900000000000
 ORDER BY place, device, metric, dialect, earliest_ns, block_id

-- The messages of the hosts in ?1 in order of time. A time since boot is translated if their records know one boot only.
-- statement: events
WITH boot AS (
    SELECT CASE WHEN count(DISTINCT ifnull(boot_id, '')) = 1 THEN max(realtime_ns - monotonic_ns) END AS offset_ns
      FROM node_fact WHERE (host IN (SELECT value FROM json_each(?1)) OR (host IS NULL AND ?1 = '[null]')) AND monotonic_ns IS NOT NULL AND realtime_ns IS NOT NULL
)
SELECT place, device, code, number, coalesce(at_ns, since_boot_ns + (SELECT offset_ns FROM boot)) AS time_ns, error_ns, pid,
       process, text, path
  FROM node_event JOIN file ON file_id = node_event_id >> 32
 WHERE (host IN (SELECT value FROM json_each(?1)) OR (host IS NULL AND ?1 = '[null]'))
 ORDER BY time_ns, node_event_id

-- The GPUs of the hosts in ?1, their cores and the number of their boot.
-- statement: facts
SELECT gpu_index, gpu_bus_id, gpu_uuid, cores, boot_id FROM node_fact WHERE (host IN (SELECT value FROM json_each(?1)) OR (host IS NULL AND ?1 = '[null]')) ORDER BY node_fact_id

-- The clock of process ?1: whether it is the wall clock, and its process id.
-- statement: clock
SELECT EXISTS (SELECT 1 FROM member JOIN file_member USING (member_id) JOIN file USING (file_id)
                WHERE process_id = ?1 AND (file.dialect GLOB 'inspector*' OR file.dialect GLOB 'flight-recorder*')),
       pid
  FROM process WHERE process_id = ?1

-- statement: anchors
SELECT local_ns, realtime_ns FROM clock_anchor WHERE process_id = ?1 AND realtime_ns IS NOT NULL ORDER BY local_ns
