-- Version 7: Inspector logs in parts that overlap, and clocks that step.

-- Blocks of operation_block as they came in, where the join put others in their place (rows of operations that another
-- record tells of are left out, times after a step of the clock are counted on) or none (nothing was left). They go back
-- when files of the process come or go.
CREATE TABLE operation_recorded (
    block_id INTEGER PRIMARY KEY,
    member_id INTEGER NOT NULL REFERENCES member,
    operations INTEGER NOT NULL,
    tagged INTEGER NOT NULL,
    earliest_ns INTEGER NOT NULL,
    latest_ns INTEGER NOT NULL,
    greatest_peer INTEGER,
    clock_distance_ns INTEGER,
    packed BLOB NOT NULL,
    doubles INTEGER NOT NULL,     -- of its operations another record tells, too: left out of operation_block
    first_double INTEGER          -- byte offset of the first of those
);
CREATE INDEX operation_recorded_member ON operation_recorded (member_id);

-- Rows of proxy_operation, of operations that were left out; its columns.
CREATE TABLE proxy_recorded (
    proxy_operation_id INTEGER PRIMARY KEY,
    operation_id INTEGER,
    member_id INTEGER,
    direction INTEGER NOT NULL,
    channel INTEGER NOT NULL,
    peer INTEGER NOT NULL,
    step_count INTEGER NOT NULL,
    chunk_bytes INTEGER,
    transferred_bytes INTEGER,
    schedule_begin_ns INTEGER,
    progress_begin_ns INTEGER,
    progress_end_ns INTEGER,
    byte_offset INTEGER NOT NULL,
    states BLOB,
    steps BLOB,
    steps_recorded INTEGER NOT NULL,
    continued INTEGER NOT NULL
);

-- Steps of a process's wall clock, as the numbers of its operations show them. Its times after a step are kept as its
-- clock before all steps would have had them. Derived by lib/join.
CREATE TABLE clock_step (
    process_id INTEGER NOT NULL REFERENCES process,
    ordinal INTEGER NOT NULL,      -- as they were found: those that the process itself shows first
    before_ns INTEGER NOT NULL,    -- the latest time seen before it, as it is kept
    step_ns INTEGER NOT NULL,      -- by so much the clock was put forward; negative: back
    is_measured INTEGER NOT NULL,  -- 1: against others that its operations ended with; 0: by its own pace
    operation_id INTEGER NOT NULL, -- the first operation known to be after it
    PRIMARY KEY (process_id, ordinal)
) WITHOUT ROWID;

-- Pairs of a send with its receive that differ in size, by communicator. Derived by lib/join.
CREATE TABLE unequal_pair (
    communicator_id INTEGER PRIMARY KEY REFERENCES communicator,
    pairs INTEGER NOT NULL,
    sender INTEGER NOT NULL,       -- of the first, ranks in the communicator
    receiver INTEGER NOT NULL,
    sequence INTEGER NOT NULL,     -- its ordinal between the two
    sent_bytes INTEGER NOT NULL,
    received_bytes INTEGER NOT NULL
);
