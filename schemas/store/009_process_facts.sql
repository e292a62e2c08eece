-- Version 9: what witnesses know of processes and communicators as a whole, and from where a program called.

-- Blocks of operation_block have one more column, NULL in older blocks, and virtual table operation with them:
--
--     source TEXT                   -- file:line of the program that called it

-- Of a process, or where member_id is given, of that rank of it alone: what a file tells of it. NULL: not said. Of several
-- rows that say the same thing of one, the first counts.
CREATE TABLE process_fact (
    process_fact_id INTEGER PRIMARY KEY, -- file_id * 2^32 + its ordinal in the file
    process_id INTEGER NOT NULL REFERENCES process,
    member_id INTEGER,
    global_rank INTEGER,             -- as the launcher or the framework counts them
    world_size INTEGER,              -- global ranks of the job
    local_rank INTEGER,              -- on its host
    gpu INTEGER,                     -- CUDA's number of the device in the process
    gpu_bus_id TEXT,
    gpu_serial TEXT,                 -- serial number or UUID
    nic TEXT,                        -- that its traffic uses; several by comma
    host TEXT,                       -- where the process itself has none
    rank_name TEXT                   -- what the framework calls it
);
CREATE INDEX process_fact_process ON process_fact (process_id);

-- The global ranks in it, in order of its own ranks, as JSON: [0,4,8]. NULL: no file says so.
ALTER TABLE communicator ADD COLUMN member_list TEXT;
ALTER TABLE communicator ADD COLUMN description TEXT;
-- Where the hash is made of name and members, since the files do not tell NCCL's: that hash, without the directory of
-- the files, which is part of column hash so that jobs of two directories stay apart.
ALTER TABLE communicator ADD COLUMN named_hash INTEGER;

-- What files say against each other. Derived by lib/join.
CREATE TABLE contradiction (
    process_id INTEGER NOT NULL REFERENCES process,
    what TEXT NOT NULL,
    kept TEXT NOT NULL,              -- what counts
    other TEXT NOT NULL,             -- what was said beside it, or follows from other records
    PRIMARY KEY (process_id, what)
) WITHOUT ROWID;
