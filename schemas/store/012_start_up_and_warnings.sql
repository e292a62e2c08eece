-- Version 12: how ranks came into their communicators, and what NCCL warned of.

-- Of a rank of a communicator: how long making it took, as a log tells. Times are of the log's clock, NULL: not said.
CREATE TABLE start_up (
    start_up_id INTEGER PRIMARY KEY, -- file_id * 2^32 + its ordinal in the file
    process_id INTEGER NOT NULL REFERENCES process,
    member_id INTEGER,
    function TEXT,                   -- that the program called
    parent_hash INTEGER,             -- of the communicator that it was split off
    begin_ns INTEGER,
    end_ns INTEGER,
    is_complete INTEGER NOT NULL,    -- 0: it was still being made as the log ends
    total_ns INTEGER,                -- and its parts
    kernels_ns INTEGER,              -- loading NCCL's kernels
    allocation_ns INTEGER,
    bootstrap_ns INTEGER,            -- meeting the other ranks, and waiting for them
    allgathers_ns INTEGER,           -- telling each other of topology, and waiting
    topology_ns INTEGER,
    graphs_ns INTEGER,
    connections_ns INTEGER,
    rest_ns INTEGER
);
CREATE INDEX start_up_member ON start_up (member_id);

-- What a process warned of, as NCCL's log tells.
CREATE TABLE warning (
    warning_id INTEGER PRIMARY KEY,  -- file_id * 2^32 + its ordinal in the file
    process_id INTEGER NOT NULL REFERENCES process,
    kind INTEGER NOT NULL,           -- 0 any other, 1 a transfer of a network card failed, 2 a card failed, 3 a peer closed its connection
    at_ns INTEGER,                   -- on the clock of the log; NULL: not said
    gpu INTEGER,                     -- CUDA's number of the thread's device
    calls INTEGER NOT NULL,          -- that the process had made by then, as far as the same file tells
    status INTEGER,                  -- of a transfer: InfiniBand's number; 12: retries exceeded, 5: given up after another one failed
    nic TEXT,                        -- the process's own network card
    peer TEXT,                       -- address or name of the other end's host
    text TEXT,                       -- up to 511 bytes
    byte_offset INTEGER NOT NULL     -- of the line, in the unpacked file
);
CREATE INDEX warning_process ON warning (process_id);

-- At which other processes reach its host.
ALTER TABLE process_fact ADD COLUMN address TEXT;
