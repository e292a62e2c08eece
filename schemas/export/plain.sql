-- An SQLite file for other tools (lib/store/plain_file.c).

-- statement: begin
-- No journal: the file has no name until it is complete. What exceeds the cache goes to the file; sorting for an index
-- uses temporary files.
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA temp_store = FILE;
PRAGMA cache_size = -65536;
BEGIN;
-- The meaning of tables and columns. A row with "column" NULL says what one row of the table is.
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
