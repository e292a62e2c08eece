-- Version 16: stores of a part of a job's files, and what was merged of them.

-- The shards that this store was merged of; a shard itself has one row, with an empty path. What a job left is in a store
-- as far as its shards are: a state other than 'whole' says that something is not there. A store is a shard, which is not
-- joined, where fact shard is 1. Fact shards_expected: how many there are to be, where somebody said so.
CREATE TABLE shard (
    shard_id INTEGER PRIMARY KEY,
    job TEXT NOT NULL,               -- the scheduler's name of the job that made it; '' where there was none
    number INTEGER NOT NULL,         -- from 0 ...
    count INTEGER NOT NULL,          -- ... of so many; 1: nobody counted, and the host tells one from another
    host TEXT NOT NULL,              -- that made it
    is_of_host INTEGER NOT NULL,     -- 1: its files lie on this host; 0: all hosts see the same files, and each took some
    path TEXT NOT NULL,              -- where the shard was when it was merged, absolute
    state TEXT NOT NULL,             -- 'whole', 'lacking' (files could not be read), 'unfinished' (its ingest, or merging it, did not end), 'missing'
    reason TEXT                      -- of the state; NULL: it says all
);
