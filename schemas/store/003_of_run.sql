-- Version 3: what belongs to a job is found without going through what belongs to all others.

CREATE INDEX job_rank_run ON job_rank (run_id);
CREATE INDEX member_join_rank ON member_join (job_rank_id);
CREATE INDEX communicator_join_run ON communicator_join (run_id);
CREATE INDEX file_member_member ON file_member (member_id);
CREATE INDEX clock_anchor_process ON clock_anchor (process_id);
CREATE INDEX loss_process ON loss (process_id);
