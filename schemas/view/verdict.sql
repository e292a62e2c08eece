-- Views of what the analyses find. ncclprof computes their rows when a query names them or an export writes them
-- (lib/report/computed_views.c) and puts them in temporary tables of the same names. These are their columns; other programs
-- learn from the name of the table that is missing what to do.

-- One row per training step of a run, as in ncclprof steps.
CREATE VIEW v_step AS
SELECT NULL AS run_id, -- integer: run
       NULL AS step, -- integer: training step
       NULL AS begin_us, -- real us: start of its first operation, after the first operation of the job
       NULL AS duration_us, -- real us: from the first operation of a rank to that of its next step, median over ranks
       NULL AS longer_us, -- real us: duration minus baseline
       NULL AS communication_us, -- real us: time with at least one operation on the GPU of a rank, averaged over ranks
       NULL AS waiting_us, -- real us: part of communication_us spent waiting for the last rank to arrive
       NULL AS last_rank, -- integer: rank that the others waited for most
       NULL AS last_process, -- text: name of that rank
       NULL AS waited_for_us, -- real us: total time that all other ranks waited for it
       NULL AS tag, -- text: phase that became slower
       NULL AS grew_us, -- real us: by how much the phase became slower, mean over ranks
       NULL AS finding -- text: finding of diagnose that covers the step
FROM "computed by ncclprof (use: ncclprof query, or ncclprof export --to sqlite)" WHERE 0;

-- One row per finding of ncclprof diagnose, also of low confidence.
CREATE VIEW v_finding AS
SELECT NULL AS run_id, -- integer: run
       NULL AS kind, -- text: kind of the finding: compute, host, network, late, missing ...
       NULL AS rank, -- integer: global rank at fault
       NULL AS process, -- text: name of that rank
       NULL AS tag, -- text: phase with the largest part of the fault
       NULL AS first_step, -- integer: first step of the fault
       NULL AS last_step, -- integer: last step of the fault
       NULL AS lost_us, -- real us: cost to the job, estimated by replay
       NULL AS confidence, -- text: high, medium or low
       NULL AS text, -- text: the finding as a sentence
       NULL AS evidence, -- text: figures that can be checked
       NULL AS peers, -- text: names of the ranks at the other ends of slow links, or of the ranks that wait
       NULL AS host, -- text: hosts of the ranks at fault, or of all candidates; null if unknown
       NULL AS gpu -- text: their GPUs: the number on the host, or else the PCI bus ID; null if unknown
FROM "computed by ncclprof (use: ncclprof query, or ncclprof export --to sqlite)" WHERE 0;

-- One row per rank and training step: its wait for other ranks, and its own delay, for which others waited.
CREATE VIEW v_wait AS
SELECT NULL AS run_id, -- integer: run
       NULL AS step, -- integer: training step
       NULL AS rank, -- integer: global rank
       NULL AS process, -- text: name of the rank
       NULL AS host, -- text: host of the rank
       NULL AS duration_us, -- real us: duration of the step on that rank
       NULL AS longer_us, -- real us: duration minus baseline
       NULL AS waiting_us, -- real us: time that it waited for the last rank to arrive
       NULL AS own_us, -- real us: its own delay
       NULL AS finding -- text: finding of diagnose that covers that rank and step
FROM "computed by ncclprof (use: ncclprof query, or ncclprof export --to sqlite)" WHERE 0;
