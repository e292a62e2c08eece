-- What nodes say of themselves, for the causes of findings (lib/job/node_records.c).

-- statement: has_any
SELECT EXISTS (SELECT 1 FROM node_sample_block) OR EXISTS (SELECT 1 FROM node_event)

-- All hosts of records, with the time that they cover.
-- statement: hosts
SELECT host, min(earliest_ns), max(latest_ns)
  FROM (SELECT host, min(earliest_ns) AS earliest_ns, max(latest_ns) AS latest_ns FROM node_sample_block GROUP BY host
        UNION ALL SELECT host, min(at_ns), max(at_ns) FROM node_event GROUP BY host)
 GROUP BY host ORDER BY host

-- The blocks of the host with the names in the JSON list ?1 (null: records without a host) that overlap ?2 to ?3, series by series, each in order of time. Totals of two tools are of two counters. Totals up to 15 minutes around count, too.
-- statement: samples
SELECT block_id, place, device, metric, error_ns, divisor, packed, file.path, dialect
  FROM node_sample_block JOIN json_each(?1) ON host IS value JOIN file ON file_id = block_id >> 32
 WHERE latest_ns >= ?2 - 900000000000 AND earliest_ns <= ?3 + 900000000000
 ORDER BY place, device, metric, dialect, earliest_ns, block_id

-- The messages of the host with the names in ?1 in order of time. A time since boot is translated if their records know one boot only.
-- statement: events
WITH boot AS (
    SELECT CASE WHEN count(DISTINCT ifnull(boot_id, '')) = 1 THEN max(realtime_ns - monotonic_ns) END AS offset_ns
      FROM node_fact JOIN json_each(?1) ON host IS value
     WHERE monotonic_ns IS NOT NULL AND realtime_ns IS NOT NULL
)
SELECT place, device, code, number, coalesce(at_ns, since_boot_ns + (SELECT offset_ns FROM boot)) AS time_ns, error_ns, pid,
       process, text, file.path
  FROM node_event JOIN json_each(?1) ON host IS value JOIN file ON file_id = node_event_id >> 32
 ORDER BY time_ns, node_event_id

-- The GPUs of the host with the names in ?1, its cores and the number of its boot.
-- statement: facts
SELECT gpu_index, gpu_bus_id, gpu_uuid, cores, boot_id FROM node_fact JOIN json_each(?1) ON host IS value
 ORDER BY node_fact_id

-- The clock of process ?1: whether it is the wall clock, and its process id.
-- statement: clock
SELECT EXISTS (SELECT 1 FROM member JOIN file_member USING (member_id) JOIN file USING (file_id)
                WHERE process_id = ?1 AND (file.dialect GLOB 'inspector*' OR file.dialect GLOB 'flight-recorder*')),
       pid
  FROM process WHERE process_id = ?1

-- statement: anchors
SELECT local_ns, realtime_ns FROM clock_anchor WHERE process_id = ?1 AND realtime_ns IS NOT NULL ORDER BY local_ns

-- The files with records of the host with the names in ?1 whose times have no zone: the first and last time, and how many records are within ?2 to ?3.
-- statement: local_times
SELECT file_id, file.path, dialect GLOB 'kernel-log*', min(first_ns), max(last_ns), sum(is_within), modified_ns
  FROM (SELECT node_event_id >> 32 AS file_id, at_ns AS first_ns, at_ns AS last_ns, at_ns BETWEEN ?2 AND ?3 AS is_within
          FROM node_event JOIN json_each(?1) ON host IS value WHERE at_ns IS NOT NULL
        UNION ALL
        SELECT block_id >> 32, earliest_ns, latest_ns, latest_ns >= ?2 AND earliest_ns <= ?3
          FROM node_sample_block JOIN json_each(?1) ON host IS value WHERE latest_ns IS NOT NULL)
  JOIN file USING (file_id) JOIN ledger USING (file_id)
 WHERE reason = 'local time without a time zone, taken as UTC'
 GROUP BY file_id ORDER BY file.path

-- How much later the last message of file ?2 is there than in another record of the host with the names in ?1 that has the same message with a zone, and where; the least difference.
-- statement: same_message
SELECT last.at_ns - other.at_ns AS later_ns, file.path
  FROM (SELECT at_ns, code, number, text FROM node_event
         WHERE node_event_id BETWEEN ?2 << 32 AND (?2 << 32) + 4294967295 AND at_ns IS NOT NULL AND text IS NOT NULL
         ORDER BY at_ns DESC LIMIT 1) AS last
  JOIN node_event AS other ON other.text = last.text AND other.code = last.code AND other.number IS last.number AND other.at_ns IS NOT NULL
  JOIN json_each(?1) ON other.host IS value
  JOIN file ON file.file_id = other.node_event_id >> 32
 WHERE file.file_id <> ?2
   AND NOT EXISTS (SELECT 1 FROM ledger WHERE ledger.file_id = file.file_id AND reason = 'local time without a time zone, taken as UTC')
 ORDER BY max(later_ns, -later_ns) LIMIT 1
