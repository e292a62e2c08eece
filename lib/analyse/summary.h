#ifndef NCCLPROF_ANALYSE_SUMMARY_H
#define NCCLPROF_ANALYSE_SUMMARY_H

#include "diagnose/smallest_fault.h"
#include "model/table.h"
#include "steps/time_shares.h"
#include "verdict/longer_steps.h"
#include "verdict/scope.h"

/* What diagnose judged of the runs of a store, and what its silence is worth. Release it. */
struct summary {
    int64_t runs;
    int64_t ranks;
    int64_t hosts; /* of each run, summed; COUNT_UNKNOWN */
    int64_t steps;
    int64_t median_step_ns; /* of the last run */
    int64_t operations;     /* as in struct scope */
    int64_t judged;
    int64_t doubtful; /* of them, those of runs of which more than a tenth was not judged */
    int64_t whole_ns; /* of all steps, as in struct longer_steps */
    int64_t lost_ns;
    int64_t explained_ns;
    struct time_shares shares; /* summed */
    int64_t waiting_gpu_ns;    /* of all ranks together */
    int64_t gaps[GAP_COUNT];
    struct smallest_fault smallest; /* of the last run */
    int longer_steps;               /* some became longer without anybody to blame */
    struct buffer longer;           /* JSON objects, as below */
    struct buffer undetermined;     /* runs that stand still, and the record cannot say for whom */
};

/* What is known of a run once it is diagnosed. */
struct judgement {
    const struct job *job;
    const struct job *told; /* its ranks, and all steps that were loaded, in whatever round: `job` where one
                               round was all */
    const struct baseline *baseline;
    struct scope scope;
    struct longer_steps longer;
    struct smallest_fault smallest;
    struct time_shares shares;
    size_t hosts;                 /* 0: not known */
    int32_t stopped_step;         /* the job stands still in it; -1 */
    struct standstill standstill; /* not known where a finding says for whom */
};

/* What all ranks that recorded something waited together; TIME_UNKNOWN. */
int64_t judgement_waiting_ns(const struct judgement *judgement);

/* -1 when memory is out: release it all the same. */
int judgement_init(struct judgement *judgement, const struct job *job, const struct baseline *baseline,
                   const struct findings *findings, const struct diagnose_options *options);
void judgement_release(struct judgement *judgement);

/*
 * Adds what was judged in a later round (job/load.h) of the same run. What a healthy step is, and how small a
 * fault would have been seen, is told by the first. -1 when memory is out.
 */
int judgement_add_round(struct judgement *judgement, const struct judgement *round);

int summary_add_run(struct summary *summary, const struct judgement *judgement);
void summary_release(struct summary *summary);

/* Whether a tenth of all or more is in runs that could not be judged, or not wholly. */
int summary_is_doubtful(const struct summary *summary);

/* "summary": {...}. -1 when memory is out. */
int summary_add_json(const struct summary *summary, struct buffer *json);

/* Where findings are shown and less than half of the job was judged, that is a warning. */
int caution_scope(const struct judgement *judgement, struct table *table, struct error *error);

#endif
