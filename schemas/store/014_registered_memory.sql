-- Version 14: buffers of operations, and which memory is registered with NCCL.

-- Blocks of operation_block have two more columns, NULL in older blocks, and virtual table operation with them; addresses
-- as SQLite's signed integers, bit for bit:
--
--     send_buffer INTEGER,          -- address in the process of what it reads
--     receive_buffer INTEGER        -- ... of what it writes

-- What files tell of registered memory: NCCL's log of single registrations, an allocator's snapshot of segments.
CREATE TABLE registration (
    registration_id INTEGER PRIMARY KEY, -- file_id * 2^32 + its ordinal in the file
    process_id INTEGER,              -- NULL: a snapshot, which names no process
    member_id INTEGER,               -- on whose communicator; NULL likewise
    kind INTEGER NOT NULL,           -- 0 made, 1 ended, 2 used by a call, 3 failed in a call, 4 calls are listed here, 5 a snapshot,
                                     -- 6 a segment in it, 7 an expandable one
    way INTEGER NOT NULL,            -- of 2 and 3: 1 IPC, 2 network, 3 NVLS, 4 CollNet; 0 not said
    address INTEGER,                 -- bit for bit; of 1 in the registered memory
    bytes INTEGER,
    device INTEGER,                  -- CUDA's number in the process
    global_rank INTEGER,             -- of the snapshot's process, as its file is called
    from_ns INTEGER,                 -- wall clock: a segment was there from, NULL: from before the snapshot's history on
    to_ns INTEGER,                   -- until; NULL: beyond the snapshot; of 5, the last moment that it tells of
    function INTEGER,                -- of 2 and 3: which call, by function
    number INTEGER,                  -- ... and how many there had been before on the communicator
    calls BLOB                       -- of 0 and 1: of each function, how many calls came before on the communicator (varints)
);
CREATE INDEX registration_process ON registration (process_id);
