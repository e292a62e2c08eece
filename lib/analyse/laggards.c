#include "analyse/finding.h"

#include <stdlib.h>

/* How far a rank got: the step and position of its last operation. */
struct progress {
    int32_t step;
    int32_t position;
};

static struct progress progress_of(const struct job *job, int32_t rank)
{
    struct progress last = {-1, -1};
    const struct job_rank *of = &job->ranks[rank];
    for (size_t i = of->first; i < of->first + of->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->position < 0)
            continue;
        if (operation->step > last.step ||
            (operation->step == last.step && operation->position > last.position))
            last = (struct progress){operation->step, operation->position};
    }
    return last;
}

static int is_behind(struct progress a, struct progress b)
{
    return a.step < b.step || (a.step == b.step && a.position < b.position);
}

static struct progress furthest(const struct job *job, const struct role *role)
{
    struct progress best = {-1, -1};
    for (size_t i = 0; i < role->rank_count; i++) {
        struct progress here = progress_of(job, role->ranks[i]);
        if (is_behind(best, here))
            best = here;
    }
    return best;
}

/* What the role does next after `here`: the operation that follows at a rank that got further. */
static const struct job_operation *next_of_role(const struct job *job, const struct baseline *baseline,
                                                int32_t role, struct progress here)
{
    const struct role *of = &baseline->roles[role];
    struct progress next = {here.step, here.position + 1};
    if (next.position == of->length)
        next = (struct progress){here.step + 1, 0};
    for (size_t i = 0; next.step < baseline->step_count && i < of->rank_count; i++) {
        int32_t cell = baseline_cell(baseline, role, next.position, i, next.step);
        if (cell >= 0)
            return &job->operations[cell];
    }
    return NULL;
}

static int add(const struct job *job, const struct baseline *baseline, int32_t role, int32_t rank,
               struct findings *findings)
{
    struct progress here = progress_of(job, rank);
    const struct job_operation *next = next_of_role(job, baseline, role, here);
    const char *name = next ? function_name(next->function) : NULL;
    struct finding *finding = findings_add(findings);
    if (!finding)
        return -1;
    finding->kind = FINDING_MISSING;
    finding->stops_job = 1;
    finding->rank = rank;
    finding->tag = next ? next->tag : -1;
    finding->first_step = finding->last_step = next ? next->step : here.step;
    finding->confidence = CONFIDENCE_LOW;
    return buffer_printf(
        &finding->evidence,
        "its last finished operation is number %d of step %d; others of its role finished %s after "
        "that: it, or a rank that it shares that one with, never began it. The trace lists only "
        "finished operations and cannot tell which",
        here.position, here.step, name ? name : "more");
}

int find_laggards(const struct job *job, const struct baseline *baseline, struct findings *findings,
                  struct error *error)
{
    if (!job->finished_only || job->missing_sequence || findings_stop_job(findings))
        return 0;
    for (size_t i = 0; i < baseline->role_count; i++) {
        const struct role *role = &baseline->roles[i];
        struct progress best = furthest(job, role);
        for (size_t j = 0; j < role->rank_count; j++)
            if (is_behind(progress_of(job, role->ranks[j]), best) &&
                add(job, baseline, (int32_t)i, role->ranks[j], findings))
                return error_no_memory(error);
    }
    return 0;
}
