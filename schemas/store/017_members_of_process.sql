-- Version 17: the members of a process are found without going through those of all others.

CREATE INDEX member_process ON member (process_id);
