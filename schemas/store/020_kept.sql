-- Version 20: results of analyses, so that they are not computed again.

-- They are used until anything is written to the store: fact kept_state is the change counter in the header of the file after
-- the last one was kept. With another counter, none of them is used, nor is ever one of another build of ncclprof.
CREATE TABLE kept_result (
    question TEXT PRIMARY KEY, -- the analysis, and all that its result depends on besides the store
    build TEXT NOT NULL,       -- the build ID of the program that computed it
    digest BLOB NOT NULL,      -- SHA-256 of the result
    result BLOB NOT NULL       -- the form is that of the program (lib/report/kept_result.c)
);
