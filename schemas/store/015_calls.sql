-- Version 15: what programs say of their calls, and Inspector's averages.

-- What a program printed, or marked in a trace, of a call that it was about to make (lit-gpt's monitor_collectives). NULL
-- is not said.
CREATE TABLE call_description (
    call_description_id INTEGER PRIMARY KEY, -- file_id * 2^32 + its ordinal in the file
    process_id INTEGER REFERENCES process, -- of a mark in a trace; NULL: it was printed, and the rank tells whose it is
    rank INTEGER NOT NULL,           -- global
    name TEXT NOT NULL,              -- torch.distributed's: all_reduce ...
    source TEXT,                     -- file:line of the program
    message_bytes INTEGER,           -- as the description counts: without what stays on the rank
    device INTEGER,                  -- CUDA's number of it in the process
    said_ns INTEGER,                 -- wall clock, mostly in whole seconds
    gpu_serial TEXT,
    vm TEXT,                         -- the virtual machine
    group_ranks TEXT,                -- global ranks of the group, as JSON: [0,4,8]; NULL: of all; '': cut off
    peer_rank INTEGER,               -- global, as is root_rank
    root_rank INTEGER,
    correlation_id TEXT,             -- the same for all that one call made
    at_ns INTEGER,                   -- of a mark, on the clock of its process
    byte_offset INTEGER NOT NULL     -- in the unpacked file
);
CREATE INDEX call_description_process ON call_description (process_id);

-- The operation of each description, or why it has none. Derived by lib/join.
CREATE TABLE call_join (
    call_description_id INTEGER PRIMARY KEY REFERENCES call_description,
    run_id INTEGER,
    job_rank_id INTEGER,             -- NULL: it is of no rank that is known
    operation_id INTEGER,
    reason TEXT                      -- NULL where there is an operation
);
CREATE INDEX call_join_operation ON call_join (operation_id);
CREATE INDEX call_join_rank ON call_join (job_rank_id);
CREATE INDEX call_join_run ON call_join (run_id, operation_id);

-- Where the calls of a rank were made, as the first description of it that says so tells. Derived by lib/join.
CREATE TABLE call_place (
    job_rank_id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL,
    gpu_serial TEXT,
    vm TEXT,
    device INTEGER
);

-- Averages of operations of one kind on one GPU, of Inspector's Prometheus text. NULL is not said.
CREATE TABLE sample (
    sample_id INTEGER PRIMARY KEY,   -- file_id * 2^32 + its ordinal in the file
    at_ns INTEGER,                   -- wall clock: when the file was written
    job TEXT,                        -- the scheduler's number of it
    node TEXT,
    gpu TEXT,                        -- GPU4
    communicator TEXT,               -- its name
    node_count INTEGER,              -- of the communicator, as are the ranks
    rank_count INTEGER,
    rank INTEGER,                    -- in the communicator
    function INTEGER NOT NULL,
    message_size TEXT,               -- as it is written: 4-5MB
    least_bytes INTEGER,             -- that this stands for, per rank as the API got them
    algorithm INTEGER NOT NULL,
    protocol INTEGER NOT NULL,
    busbw_gbs REAL,                  -- geometric mean of bus bandwidths, 1e9 bytes a second
    duration_ns INTEGER,             -- arithmetic mean of durations
    tag TEXT,                        -- user tag
    sequence INTEGER,                -- of the last operation
    byte_offset INTEGER NOT NULL     -- in the unpacked file
);
