-- An SQLite file for other tools (lib/store/store.h).

-- statement: begin
-- No journal: the file has no name that anybody goes by until it is whole. What does not fit into the cache goes to the
-- file, what an index has to sort goes to temporary files.
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA temp_store = FILE;
PRAGMA cache_size = -65536;
BEGIN;
-- What tables and columns mean. name NULL: the table itself, a row of which is this.
CREATE TABLE description (
    "table" TEXT NOT NULL,
    "column" TEXT,
    unit TEXT,                    -- NULL: none
    text TEXT NOT NULL
);

-- statement: describe
INSERT INTO description ("table", "column", unit, text) VALUES (?, ?, ?, ?)

-- statement: end
COMMIT;
