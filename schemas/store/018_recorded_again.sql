-- Version 18: records that a join takes away come back before the next one; which reader read a file.

-- The trace format whose reader read the file, and the version of that reader (lib/format/registry.c). NULL: an earlier
-- ncclprof read it, which did not say.
ALTER TABLE file ADD COLUMN reader TEXT;
ALTER TABLE file ADD COLUMN reader_version INTEGER;

-- Why the join left out the block as a whole: 1 a trace records these calls of NCCL's log or RAS, too; 2 a newer dump of RAS
-- lists them; 0 for neither of these reasons.
ALTER TABLE operation_recorded ADD COLUMN repeated_by INTEGER NOT NULL DEFAULT 0;

-- The log of a process is united with the trace of the same process, and older dumps of RAS give way to the newest. The rows
-- that this removes or changes are kept here as they were recorded. They go back before files come or go and before the next
-- join, and merge reads them in place of the changed ones. Fact set_aside is 1 while there are some.

-- Rows of process that were removed; its columns.
CREATE TABLE process_recorded (
    process_id INTEGER PRIMARY KEY,
    file_set TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started_ns INTEGER NOT NULL
);
-- Rows of member that were removed or are of another process now; its columns.
CREATE TABLE member_recorded (
    member_id INTEGER PRIMARY KEY,
    communicator_id INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    process_id INTEGER NOT NULL
);
CREATE INDEX member_recorded_process ON member_recorded (process_id);
-- Rows of file_member that were removed; its columns.
CREATE TABLE file_member_recorded (
    file_id INTEGER NOT NULL,
    member_id INTEGER NOT NULL,
    greatest_peer INTEGER,
    PRIMARY KEY (file_id, member_id)
) WITHOUT ROWID;
-- Rows of loss that were removed, or changed; its columns.
CREATE TABLE loss_recorded AS SELECT * FROM loss WHERE false;
CREATE UNIQUE INDEX loss_recorded_id ON loss_recorded (loss_id);
-- Rows of process_fact that were removed, or changed; its columns.
CREATE TABLE process_fact_recorded AS SELECT * FROM process_fact WHERE false;
CREATE UNIQUE INDEX process_fact_recorded_id ON process_fact_recorded (process_fact_id);
-- Rows of group_status that were removed, or changed; its columns.
CREATE TABLE group_status_recorded AS SELECT * FROM group_status WHERE false;
CREATE UNIQUE INDEX group_status_recorded_id ON group_status_recorded (group_status_id);
-- Rows of start_up that were removed, or changed; its columns.
CREATE TABLE start_up_recorded AS SELECT * FROM start_up WHERE false;
CREATE UNIQUE INDEX start_up_recorded_id ON start_up_recorded (start_up_id);
-- Rows of warning that were removed, or changed; its columns.
CREATE TABLE warning_recorded AS SELECT * FROM warning WHERE false;
CREATE UNIQUE INDEX warning_recorded_id ON warning_recorded (warning_id);
-- Rows of registration that were removed, or changed; its columns.
CREATE TABLE registration_recorded AS SELECT * FROM registration WHERE false;
CREATE UNIQUE INDEX registration_recorded_id ON registration_recorded (registration_id);
