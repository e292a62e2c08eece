#include "analyse/evidence.h"

#include "base/array.h"

#include <stdlib.h>

/* Medians of own time at a place over the suspicion's steps: the suspect's own, and everybody else's. */
static int own_medians(const struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                       int32_t position, int64_t *mine, int64_t *others)
{
    int32_t role = baseline->role_of_rank[suspect->rank];
    const struct role *of = &baseline->roles[role];
    int64_t *list = array_new(of->rank_count * (size_t)baseline->step_count + 1, sizeof *list);
    if (!list)
        return -1;
    for (int mine_too = 1; mine_too >= 0; mine_too--) {
        size_t count = 0;
        for (size_t rank = 0; rank < of->rank_count; rank++)
            for (int32_t step = suspect->first_step; step <= suspect->last_step; step++) {
                int32_t cell = baseline_cell(baseline, role, position, rank, step);
                if ((of->ranks[rank] == suspect->rank) == mine_too && cell >= 0 &&
                    job->operations[cell].own_ns != TIME_UNKNOWN)
                    list[count++] = job->operations[cell].own_ns;
            }
        *(mine_too ? mine : others) = median_of(list, count);
    }
    free(list);
    return 0;
}

/* The suspect's own time at the place in its other steps. */
static int own_history(const struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                       int32_t position, int64_t *usual)
{
    int32_t role = baseline->role_of_rank[suspect->rank];
    int64_t *list = array_new((size_t)baseline->step_count + 1, sizeof *list);
    size_t count = 0;
    if (!list)
        return -1;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        int32_t cell =
            baseline_cell(baseline, role, position, (size_t)baseline->rank_in_role[suspect->rank], step);
        if ((step < suspect->first_step || step > suspect->last_step) && cell >= 0 &&
            job->operations[cell].own_ns != TIME_UNKNOWN)
            list[count++] = job->operations[cell].own_ns;
    }
    *usual = median_of(list, count);
    free(list);
    return 0;
}

static int say_us(struct buffer *text, const char *before, int64_t time_ns, const char *after)
{
    if (time_ns == TIME_UNKNOWN)
        return 0;
    return buffer_printf(text, "%s%.0f us%s", before, (double)time_ns / 1e3, after);
}

static const struct job_operation *operation_at(const struct suspect *suspect, const struct job *job,
                                                int32_t position)
{
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i]) && job->operations[i].position == position)
            return &job->operations[i];
    return NULL;
}

/* Why it was late: who waits for GPU work after the last operation of a step is so, too, and nothing tells.
 */
static const char *say_cause(const struct suspect *suspect, int32_t position)
{
    if (suspect->kind != FINDING_HOST)
        return "; the operation was in the GPU's queue meanwhile";
    return position
               ? "; the operation was enqueued only after most of that had passed"
               : "; the operation was enqueued only after most of that had passed, as it would be if its "
                 "host had waited for the GPU at the end of the step before";
}

int evidence_of_own(const struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                    int32_t position, struct buffer *text)
{
    int64_t mine, others, usual;
    const struct job_operation *operation = operation_at(suspect, job, position);
    if (!operation)
        return 0;
    if (own_medians(suspect, job, baseline, position, &mine, &others) ||
        own_history(suspect, job, baseline, position, &usual))
        return -1;
    const char *function = function_name(operation->function),
               *label = job->communicators[operation->communicator].label;
    if (!function)
        function = "operation";
    if (mine == TIME_UNKNOWN)
        return buffer_printf(
            text,
            "in operation %d of the step (%s on communicator %s) its partners waited %.0f us longer "
            "for it than usual, in step %d; its own time before that is not known",
            (int)position, function, label, (double)operation->excess_ns / 1e3, operation->step);
    return buffer_printf(text, "before operation %d of the step (%s on communicator %s) it took",
                         (int)position, function, label) ||
           say_us(text, " ", mine, " of its own time") || say_us(text, ", its peers ", others, "") ||
           say_us(text, ", itself in other steps ", usual, "") ||
           buffer_append_text(text, say_cause(suspect, position));
}
