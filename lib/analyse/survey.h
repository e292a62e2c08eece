#ifndef NCCLPROF_ANALYSE_SURVEY_H
#define NCCLPROF_ANALYSE_SURVEY_H

#include "base/error.h"
#include "export/metrics.h"
#include "watch/noted.h"

struct store;

/*
 * What diagnose finds in the runs of a store, kept from one look to the next: a run of which no file came or
 * went is not judged again.
 */
struct survey {
    struct surveyed_run *runs; /* owned; by number */
    size_t count;
    uint64_t others; /* of files that are of no run's ranks */
    int shows_low;   /* findings of low confidence as well */
    int wants_metrics;
};

void survey_release(struct survey *survey);

/* Looks at a joined store. */
int survey_look(struct survey *survey, struct store *store, struct error *error);

/* Findings and figures of all runs. -1 when memory is out. */
int survey_findings(const struct survey *survey, struct noted_list *findings);
int survey_metrics(const struct survey *survey, struct metrics *metrics);

#endif
