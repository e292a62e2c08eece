-- A copy of a store without names (lib/store/anonymize.c).

-- statement: copy
VACUUM INTO ?1

-- statement: begin
PRAGMA journal_mode = MEMORY;
PRAGMA synchronous = OFF;
BEGIN;
DELETE FROM kept_result;

-- One UPDATE for each column of text that may hold a name. A column that is added to a table is renamed unless it is
-- listed here as one that only has words of ncclprof, of NCCL or of a format.
-- statement: updates
SELECT printf('UPDATE "%w" SET "%w" = %s("%w", ''%s'') WHERE "%w" IS NOT NULL', t, c, f, c, what, c)
  FROM (SELECT m.name AS t, p.name AS c,
               CASE p.name WHEN 'packed' THEN 'anonymous_block' ELSE 'anonymous' END AS f,
               CASE WHEN p.name = 'packed' THEN m.name
                    WHEN p.name IN ('host', 'node', 'peer', 'address', 'vm') THEN 'host'
                    WHEN p.name IN ('path', 'file_set') THEN 'path'
                    WHEN p.name = 'tag' OR m.name IN ('tag_mark', 'tag_name') THEN 'tag'
                    WHEN p.name IN ('communicator', 'label') OR m.name = 'communicator' THEN 'communicator'
                    WHEN p.name = 'source' THEN 'source'
                    WHEN m.name = 'run' THEN 'run'
                    WHEN m.name = 'job_rank' THEN 'process'
                    WHEN p.name IN ('text', 'example') THEN 'text'
                    ELSE 'name' END AS what
          FROM main.sqlite_schema m JOIN pragma_table_info(m.name) p
         WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND (p.type = 'TEXT' OR p.name = 'packed')
           AND m.name NOT IN ('vocabulary', 'fact', 'kept_result')
           AND m.name || '.' || p.name NOT IN
               ('file.dialect', 'file.digest', 'file.unpacked_digest', 'file.reader', 'file.status', 'run.step_source',
                'call_description.name', 'call_join.reason', 'sample.message_size', 'shard.state', 'ledger.reason', 'loss.what',
                'loss_recorded.what', 'contradiction.what', 'witness_contradiction.what', 'group_status.function',
                'group_status_recorded.function', 'start_up.function', 'start_up_recorded.function'))

-- statement: end
COMMIT;
