-- Version 10: how far processes came with the operations that their framework counts.

-- Of a rank's group: the numbers of the last operations, as torch's Flight Recorder (pg_status) and watchdog tell them.
-- They count from 1; 0: none yet, NULL: not said.
CREATE TABLE group_status (
    group_status_id INTEGER PRIMARY KEY, -- file_id * 2^32 + its ordinal in the file
    process_id INTEGER NOT NULL REFERENCES process,
    member_id INTEGER,               -- whose it is, where the file tells the communicator; NULL: name tells the group
    name TEXT,                       -- the framework's, of the group
    description TEXT,
    function TEXT,                   -- that timed out
    enqueued INTEGER,
    started INTEGER,
    completed INTEGER,
    timed_out INTEGER,
    at_ns INTEGER                    -- when that was said
);
CREATE INDEX group_status_process ON group_status (process_id);
