-- Version 19: what nodes say of themselves: samples, messages of the kernel, facts. Times are UNIX time. Numbers of places,
-- metrics and kinds of messages are named in table vocabulary (node_place, node_metric, node_event).

-- Samples of one metric of one device, up to 256 packed in a row. Virtual table node_sample shows them row by row.
CREATE TABLE node_sample_block (
    block_id INTEGER PRIMARY KEY,    -- file_id * 2^32 + an ordinal in the file; that of its first sample
    host TEXT,                       -- as the file calls it; NULL: not said
    place INTEGER NOT NULL,          -- 0 the node, 1 GPU, 2 interface, 3 port, 4 disk, 5 process, 6 thread
    device TEXT,                     -- of a GPU its PCI address, UUID or "index 3"; "eth0", "mlx5_1/2", "PID", "PID/TID NAME"
    metric INTEGER NOT NULL,
    samples INTEGER NOT NULL,
    earliest_ns INTEGER,             -- NULL: the file does not say when; the least begin_ns
    latest_ns INTEGER,               -- the greatest at_ns
    error_ns INTEGER NOT NULL,       -- how far the times may be off, beyond the node's clock
    divisor INTEGER NOT NULL,        -- by which the values are to be divided
    packed BLOB NOT NULL             -- begin_ns, at_ns: a gauge had the value, a counter increased by it, in between; value
);
CREATE INDEX node_sample_block_series ON node_sample_block (host, place, metric, earliest_ns);

-- Messages of a node's kernel or driver.
CREATE TABLE node_event (
    node_event_id INTEGER PRIMARY KEY, -- file_id * 2^32 + its ordinal in the file
    host TEXT,
    place INTEGER NOT NULL,
    device TEXT,
    code INTEGER NOT NULL,           -- kind of message
    number INTEGER,                  -- of an Xid
    at_ns INTEGER,                   -- NULL: only since_boot_ns is known, or nothing
    since_boot_ns INTEGER,           -- on the kernel's clock
    error_ns INTEGER NOT NULL,
    pid INTEGER,                     -- of the process that it is about
    process TEXT,
    text TEXT,                       -- up to 300 bytes
    byte_offset INTEGER NOT NULL     -- of the line, in the unpacked file
);
CREATE INDEX node_event_order ON node_event (host, at_ns);

-- What does not change: of a host, or of one of its GPUs.
CREATE TABLE node_fact (
    node_fact_id INTEGER PRIMARY KEY, -- file_id * 2^32 + its ordinal in the file
    host TEXT,
    boot_id TEXT,
    cores INTEGER,
    memory_bytes INTEGER,
    monotonic_ns INTEGER,            -- one moment on both clocks
    realtime_ns INTEGER,
    gpu_index INTEGER,               -- as the driver counts
    gpu_bus_id TEXT,
    gpu_uuid TEXT,
    gpu_name TEXT,
    byte_offset INTEGER NOT NULL
);
