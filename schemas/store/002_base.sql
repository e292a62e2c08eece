-- Version 2 of the store (version 1 kept a row an operation; it is not read any longer). Times are nanoseconds on the clock of the process that recorded them; NULL is unknown.
-- 64-bit unsigned values (communicator hash, GPU clock, stream) are kept as SQLite's signed integers, bit for bit.
-- Numbers of functions, datatypes, algorithms and protocols are those of lib/model/vocab.h, named in table vocabulary.

-- What was read. A file goes in whole, in one transaction, or not at all.
CREATE TABLE file (
    file_id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,           -- absolute; '-' for standard input
    file_set TEXT NOT NULL,       -- its directory: process ids are taken to be unique within one unless the dialect tells more
    dialect TEXT NOT NULL,        -- chrome-v5, inspector-2.30 ...
    digest TEXT NOT NULL UNIQUE,  -- of the raw bytes: the same content never goes in twice
    bytes INTEGER NOT NULL,       -- as on disk
    unpacked_bytes INTEGER NOT NULL,
    status TEXT NOT NULL,         -- 'ingested', or 'partial' when part of it could not be read
    events INTEGER NOT NULL,      -- records understood
    skipped INTEGER NOT NULL      -- lines that became nothing: unreadable or not modelled, see ledger
);
CREATE INDEX file_path ON file (path);

-- The coverage ledger: what a file held that did not become an event, by reason.
CREATE TABLE ledger (
    file_id INTEGER NOT NULL REFERENCES file,
    reason TEXT NOT NULL,
    damage INTEGER NOT NULL,      -- 1: data was lost or unreadable; 0: understood, but not modelled
    count INTEGER NOT NULL,
    first_offset INTEGER NOT NULL, -- byte offset (unpacked) of the first
    example TEXT,                 -- what stood there, cut short
    PRIMARY KEY (file_id, reason)
) WITHOUT ROWID;

-- An operating-system process that recorded something.
CREATE TABLE process (
    process_id INTEGER PRIMARY KEY,
    file_set TEXT NOT NULL,
    host TEXT NOT NULL,           -- '' when the dialect does not say
    pid INTEGER NOT NULL,         -- -1 when the dialect does not say
    started_ns INTEGER NOT NULL,  -- when it began to record, wall clock; 0 when the dialect does not say
    UNIQUE (file_set, host, pid, started_ns)
);

-- A communicator. Dialects that print hash 0 cannot tell theirs apart: each of their files gets one of its own.
CREATE TABLE communicator (
    communicator_id INTEGER PRIMARY KEY,
    hash INTEGER NOT NULL,
    unhashed_file_id INTEGER NOT NULL DEFAULT 0, -- the file, where hash is 0
    name TEXT,
    size INTEGER,                 -- as declared by a trace; NULL: not said (table communicator_join has a lower bound)
    node_count INTEGER,
    UNIQUE (hash, unhashed_file_id)
);

-- A rank of a communicator, in a process.
CREATE TABLE member (
    member_id INTEGER PRIMARY KEY,
    communicator_id INTEGER NOT NULL REFERENCES communicator,
    rank INTEGER NOT NULL,        -- in the communicator
    process_id INTEGER NOT NULL REFERENCES process,
    UNIQUE (communicator_id, rank, process_id)
);

-- Which files speak of a member: what no file speaks of any longer goes when a file is replaced.
CREATE TABLE file_member (
    file_id INTEGER NOT NULL REFERENCES file,
    member_id INTEGER NOT NULL REFERENCES member,
    greatest_peer INTEGER,        -- that its network traffic in the file names; NULL: no traffic
    PRIMARY KEY (file_id, member_id)
) WITHOUT ROWID;

-- Operations as one rank each saw them, up to 256 packed in a row (lib/model/block.h): all of one member and of one
-- file. Virtual table `operation` (ncclprof query) shows them row by row, with these columns:
--
--     operation_id INTEGER,         -- file_id * 2^32 + its ordinal in the file
--     member_id INTEGER,
--     kind INTEGER,                 -- 0 collective, 1 point-to-point, 2 copy engine
--     function INTEGER,
--     sequence INTEGER,             -- per communicator and function; of point-to-point, its rank's own count, or NULL
--     count INTEGER,
--     datatype INTEGER,
--     bytes INTEGER,                -- count x type size as the API got them
--     root INTEGER,
--     peer INTEGER,
--     algorithm INTEGER,
--     protocol INTEGER,
--     channel_count INTEGER,
--     stream INTEGER,
--     api_begin_ns INTEGER,
--     api_end_ns INTEGER,
--     enqueue_begin_ns INTEGER,
--     enqueue_end_ns INTEGER,
--     device_begin_ns INTEGER,      -- as the host noticed it
--     device_end_ns INTEGER,
--     end_source INTEGER,           -- 0 unknown, 1 kernel, 2 proxy, 3 host
--     gpu_begin INTEGER,
--     gpu_end INTEGER,
--     duration_ns INTEGER,          -- on the device
--     tag TEXT,                     -- where the record itself carries one
--     flags INTEGER,                -- 1 unfinished, 2 graph captured
--     byte_offset INTEGER,          -- in the unpacked file
--     kernel_channels BLOB          -- lib/model/pack.h; bases coalesce(device_begin_ns, enqueue_begin_ns, 0), coalesce(gpu_begin, 0)
CREATE TABLE operation_block (
    block_id INTEGER PRIMARY KEY, -- operation_id of its first; its others are less than 4096 beyond
    member_id INTEGER NOT NULL REFERENCES member,
    operations INTEGER NOT NULL,
    tagged INTEGER NOT NULL,      -- of these, carry a tag themselves
    -- When they were issued: coalesce(api_begin_ns, enqueue_begin_ns, device_begin_ns, device_end_ns, 0).
    earliest_ns INTEGER NOT NULL,
    latest_ns INTEGER NOT NULL,
    greatest_peer INTEGER,        -- of its point-to-point operations
    clock_distance_ns INTEGER,    -- least device_begin_ns - gpu_begin
    packed BLOB NOT NULL
);
CREATE INDEX operation_block_order ON operation_block (member_id, earliest_ns, block_id);

-- A proxy operation and its network steps, packed (lib/model/pack.h). Virtual table proxy_step unpacks them.
CREATE TABLE proxy_operation (
    proxy_operation_id INTEGER PRIMARY KEY, -- file_id * 2^32 + its ordinal in the file
    operation_id INTEGER,         -- NULL: printed detached from its operation
    member_id INTEGER,            -- NULL likewise
    direction INTEGER NOT NULL,   -- 0 send, 1 receive
    channel INTEGER NOT NULL,
    peer INTEGER NOT NULL,        -- rank in the communicator
    step_count INTEGER NOT NULL,
    chunk_bytes INTEGER,
    transferred_bytes INTEGER,
    schedule_begin_ns INTEGER,
    progress_begin_ns INTEGER,
    progress_end_ns INTEGER,
    byte_offset INTEGER NOT NULL,
    states BLOB,                  -- API v1 to v3's counters, packed; base coalesce(progress_begin_ns, 0)
    steps BLOB,                   -- packed likewise
    steps_recorded INTEGER NOT NULL, -- steps in the blob
    continued INTEGER NOT NULL    -- 1: more steps of the proxy operation before this one
);

-- User tags, as set. member_id NULL: applies to every communicator of the process.
CREATE TABLE tag_mark (
    tag_mark_id INTEGER PRIMARY KEY, -- file_id * 2^32 + its ordinal in the file
    process_id INTEGER NOT NULL REFERENCES process,
    member_id INTEGER,
    at_ns INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    is_end INTEGER NOT NULL,
    text TEXT
);
CREATE INDEX tag_mark_order ON tag_mark (process_id, at_ns);

-- Moments read on several clocks at once.
CREATE TABLE clock_anchor (
    clock_anchor_id INTEGER PRIMARY KEY, -- file_id * 2^32 + its ordinal in the file
    process_id INTEGER NOT NULL REFERENCES process,
    local_ns INTEGER NOT NULL,
    monotonic_ns INTEGER,
    realtime_ns INTEGER,
    boot_id TEXT
);

-- Events that a recorder says it dropped.
CREATE TABLE loss (
    loss_id INTEGER PRIMARY KEY,  -- file_id * 2^32 + its ordinal in the file
    process_id INTEGER NOT NULL REFERENCES process,
    what TEXT NOT NULL,
    events INTEGER NOT NULL
);

-- Names of the numbers above.
CREATE TABLE vocabulary (
    kind TEXT NOT NULL,           -- function, datatype, algorithm, protocol, end_source
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (kind, number)
) WITHOUT ROWID;

-- ---------------------------------------------------------------------------------------------------------
-- Derived by lib/join from the tables above, made anew for the jobs of which files arrive. Never edited by hand.
-- ---------------------------------------------------------------------------------------------------------

-- Processes of which files came or went since the derived tables were made: their jobs are joined anew.
CREATE TABLE changed_process (
    process_id INTEGER PRIMARY KEY
);

-- Facts of the store itself: 'joined' is 1 while the derived tables match the files, 'join_rules' the number of the
-- rules by which they were made.
CREATE TABLE fact (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

-- A job: processes that share communicators, directly or through others.
CREATE TABLE run (
    run_id INTEGER PRIMARY KEY,
    rank_count INTEGER NOT NULL,       -- ranks with any record
    expected_ranks INTEGER NOT NULL,   -- size of the communicator that all share, or rank_count
    step_count INTEGER NOT NULL,       -- 0 when no steps could be told
    step_source TEXT NOT NULL,         -- 'tags', 'period', 'none'
    global_ranks INTEGER NOT NULL      -- 1: a communicator that all processes share gives the global ranks
);

-- A rank of a job: one process, or each of the ranks that one process drives.
CREATE TABLE job_rank (
    job_rank_id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES run,
    process_id INTEGER,                -- NULL: nothing recorded by it, known from its peers
    global_rank INTEGER,               -- NULL: no communicator of all, see name
    name TEXT NOT NULL                 -- "5", or "host:pid" where there is no global rank
);

-- Which member of a communicator is which rank of the job.
CREATE TABLE member_join (
    member_id INTEGER PRIMARY KEY REFERENCES member,
    job_rank_id INTEGER NOT NULL REFERENCES job_rank
);

CREATE TABLE communicator_join (
    communicator_id INTEGER PRIMARY KEY REFERENCES communicator,
    run_id INTEGER NOT NULL REFERENCES run,
    size INTEGER NOT NULL,             -- declared, else the ranks seen (a lower bound)
    size_is_known INTEGER NOT NULL,
    label TEXT NOT NULL                -- for people: the name, else the ranks in it
);

-- Operations of whole communicators, each a collective across its ranks, or a send with its receive: up to 256 of one
-- communicator packed in a row. Virtual table `instance` shows them row by row:
--
--     instance_id INTEGER,          -- communicator_id * 2^32 + its number in the communicator
--     run_id INTEGER,
--     communicator_id INTEGER,
--     kind INTEGER,
--     function INTEGER,             -- a pair counts as Send
--     sequence INTEGER,             -- a pair's ordinal between its two ranks
--     sender INTEGER,               -- pairs: ranks in the communicator
--     receiver INTEGER,
--     size_bytes INTEGER,           -- S of the bandwidth table
--     members INTEGER,              -- operations joined
--     expected INTEGER,             -- operations there should be
--     transfer_ns INTEGER,          -- shortest device duration over the members
--     effective_ns INTEGER,         -- longest
--     last_member_id INTEGER,       -- last to arrive (full exchanges and pairs only)
--     margin_ns INTEGER,            -- second shortest duration minus the shortest
--     tag TEXT,                     -- of its first member
--     step INTEGER                  -- the least of its members'
CREATE TABLE instance_block (
    block_id INTEGER PRIMARY KEY,     -- instance_id of its first
    communicator_id INTEGER NOT NULL REFERENCES communicator,
    packed BLOB NOT NULL
);

-- What the join says of the operations of an operation_block. Virtual table `operation_join` shows them row by row:
--
--     operation_id INTEGER,
--     instance_id INTEGER,
--     step INTEGER,
--     tag TEXT
CREATE TABLE operation_join_block (
    block_id INTEGER PRIMARY KEY REFERENCES operation_block,
    packed BLOB NOT NULL
);
