-- Version 5: losses of which a recorder says the total so far, again and again, instead of what is new.

-- The communicator's member that lost them; NULL: the process as a whole, or not said of whom.
ALTER TABLE loss ADD COLUMN member_id INTEGER;
-- 1: events is the total so far, and of the rows of one process, member and kind the greatest counts; 0: rows add up.
ALTER TABLE loss ADD COLUMN is_total INTEGER NOT NULL DEFAULT 0;
