-- Version 11: steps as the program itself counts them.

-- Blocks of operation_block have three more columns, NULL in older blocks, and virtual table operation with them:
--
--     told_step INTEGER,            -- training step, as the program counts
--     told_sequence INTEGER,        -- among all collectives of the communicator, as the program counts
--     gpu_busy_ns INTEGER           -- that its GPU computed since the operation before it there had ended

-- Where step_source is 'told', steps have the program's numbers: the first that is recorded.
ALTER TABLE run ADD COLUMN first_step INTEGER NOT NULL DEFAULT 0;
-- What the program calls step 0: beyond 100, steps are counted from a multiple of it.
ALTER TABLE run ADD COLUMN step_base INTEGER NOT NULL DEFAULT 0;
