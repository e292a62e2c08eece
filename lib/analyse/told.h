#ifndef NCCLPROF_ANALYSE_TOLD_H
#define NCCLPROF_ANALYSE_TOLD_H

#include "analyse/analysis.h"
#include "verdict/finding.h"

/*
 * The findings of diagnose in its answer: a row, an object and, where it is shown, a paragraph each. Begins
 * with a request, its result and what is asked for; release it.
 */
struct told {
    const struct analysis_request *request;
    struct analysis_result *result;
    int show_low;
    int explains;
    int names_runs;        /* there are several */
    int found;             /* of medium or high confidence, or of a job that stopped */
    int shown;             /* to people */
    int hidden;            /* low, not shown */
    struct buffer largest; /* which of these cost most, in words */
    int64_t largest_ns;    /* and how much */
    int64_t listed;        /* that filters let through */
    int left_out;          /* of those that would be shown, by filters */
};

/* The columns of the result's table. */
int told_begin(struct told *told, struct error *error);
/* Sorts the findings of a run, and adds those that filters ask for. */
int told_add(struct told *told, const struct job *job, struct findings *findings, struct error *error);
/* How many are not shown, and why. -1 when memory is out. */
int told_say_rest(const struct told *told, struct buffer *text);
void told_release(struct told *told);

#endif
