-- Version 6: what NCCL 2.31 says of an operation: the phases of its kernel, and a number as its tag.

-- Blocks say how many columns they have (lib/model/block.h, form 2), so that virtual table operation has one more, NULL in
-- older blocks, and more in its flags:
--
--     initial_sync_ns INTEGER       -- first phase of its kernel, shortest over channels, on the GPU's own clock
--     flags INTEGER                 -- 4 its tag is a number that may have a name, 8 its kernel is a symmetric one

-- Names of tags that are numbers: of one process, the last one given counts, whenever that was.
CREATE TABLE tag_name (
    tag_name_id INTEGER PRIMARY KEY, -- file_id * 2^32 + its ordinal in the file
    process_id INTEGER NOT NULL REFERENCES process,
    number INTEGER NOT NULL,         -- 64 bits unsigned, kept as SQLite's signed, bit for bit
    at_ns INTEGER,
    text TEXT NOT NULL
);
CREATE INDEX tag_name_process ON tag_name (process_id);
