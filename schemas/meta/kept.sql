-- Results that are kept in the store (lib/store/kept.c).

-- statement: find
SELECT digest, result FROM kept_result WHERE question = ?1 AND build = ?2;

-- statement: drop_all
DELETE FROM kept_result;

-- Results of other builds, which this one cannot read.
-- statement: drop_others
DELETE FROM kept_result WHERE build <> ?1;

-- statement: bytes
SELECT coalesce(sum(length(result)), 0), (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)
  FROM kept_result;

-- statement: add
INSERT OR REPLACE INTO kept_result (question, build, digest, result) VALUES (?1, ?2, ?3, ?4);
