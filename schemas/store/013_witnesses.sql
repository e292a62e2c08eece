-- Version 13: several recorders of one process, whose operations count once; and when files were written.

-- When it was last written, as the file system says: a dump that comes right behind a call was not waited for. NULL: not
-- known.
ALTER TABLE file ADD COLUMN modified_ns INTEGER;

-- A process of one recorder that another process stands for: the same rank of the same job, told better. Its operations
-- lie in operation_recorded. Derived by lib/join when files of either come.
CREATE TABLE witness (
    process_id INTEGER PRIMARY KEY REFERENCES process,
    as_process_id INTEGER NOT NULL REFERENCES process
);
CREATE INDEX witness_as_process ON witness (as_process_id);

-- Which member of that process stands for a member of the witness. Derived likewise.
CREATE TABLE witness_member (
    member_id INTEGER PRIMARY KEY REFERENCES member,
    as_member_id INTEGER NOT NULL REFERENCES member
);
CREATE INDEX witness_member_as ON witness_member (as_member_id);

-- What a witness says of single operations against what counts. Derived likewise.
CREATE TABLE witness_contradiction (
    process_id INTEGER NOT NULL REFERENCES process,
    what TEXT NOT NULL,
    count INTEGER NOT NULL,
    kept TEXT NOT NULL,              -- what counts, of the first
    other TEXT NOT NULL,             -- what the witness says instead
    PRIMARY KEY (process_id, what)
) WITHOUT ROWID;

-- Runs that may be one job, and why they are kept apart. Derived likewise; each run by one of its processes.
CREATE TABLE witness_doubt (
    process_id INTEGER NOT NULL REFERENCES process,
    other_process_id INTEGER NOT NULL REFERENCES process,
    why TEXT NOT NULL,
    PRIMARY KEY (process_id, other_process_id)
) WITHOUT ROWID;
