-- What nodes say of themselves, for the causes of findings (lib/job/node_records.c).

-- statement: has_any
SELECT EXISTS (SELECT 1 FROM node_sample_block) OR EXISTS (SELECT 1 FROM node_event)

-- All hosts of records, with the time that they cover.
-- statement: hosts
SELECT host, min(earliest_ns), max(latest_ns)
  FROM (SELECT host, min(earliest_ns) AS earliest_ns, max(latest_ns) AS latest_ns FROM node_sample_block GROUP BY host
        UNION ALL SELECT host, min(at_ns), max(at_ns) FROM node_event GROUP BY host)
 GROUP BY host ORDER BY host

-- The blocks of host ?1 that overlap ?2 to ?3, series by series, each in order of time. Totals up to 15 minutes around count, too.
-- statement: samples
SELECT block_id, place, device, metric, error_ns, divisor, packed, path
  FROM node_sample_block JOIN file ON file_id = block_id >> 32
 WHERE host IS ?1 AND latest_ns >= ?2 - 900000000000 AND earliest_ns <= ?3 + 900000000000
 ORDER BY place, device, metric, earliest_ns, block_id

-- The messages of host ?1 in order of time. A time since boot is translated if the records of the host know one boot only.
-- statement: events
WITH boot AS (
    SELECT CASE WHEN count(DISTINCT ifnull(boot_id, '')) = 1 THEN max(realtime_ns - monotonic_ns) END AS offset_ns
      FROM node_fact WHERE host IS ?1 AND monotonic_ns IS NOT NULL AND realtime_ns IS NOT NULL
)
SELECT place, device, code, number, coalesce(at_ns, since_boot_ns + (SELECT offset_ns FROM boot)) AS time_ns, error_ns, pid,
       process, text, path
  FROM node_event JOIN file ON file_id = node_event_id >> 32
 WHERE host IS ?1
 ORDER BY time_ns, node_event_id

-- The GPUs of host ?1, its cores and the number of its boot.
-- statement: facts
SELECT gpu_index, gpu_bus_id, gpu_uuid, cores, boot_id FROM node_fact WHERE host IS ?1 ORDER BY node_fact_id

-- The clock of process ?1: whether it is the wall clock, and its process id.
-- statement: clock
SELECT EXISTS (SELECT 1 FROM member JOIN file_member USING (member_id) JOIN file USING (file_id)
                WHERE process_id = ?1 AND (file.dialect GLOB 'inspector*' OR file.dialect GLOB 'flight-recorder*')),
       pid
  FROM process WHERE process_id = ?1

-- statement: anchors
SELECT local_ns, realtime_ns FROM clock_anchor WHERE process_id = ?1 AND realtime_ns IS NOT NULL ORDER BY local_ns
