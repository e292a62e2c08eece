#include "diagnose/evidence_explained.h"

#include "base/array.h"
#include "base/statistics.h"
#include "baseline/cells.h"
#include "verdict/words.h"

#include <stdlib.h>

/* Whose own times are listed: of ranks of the explanation in its steps or in others, or of other ranks. */
enum whose { OF_RANK_SLOW, OF_RANK_ELSE, OF_OTHERS };

static int belongs(const struct explanation *explanation, int32_t rank, int32_t step, enum whose whose)
{
    int has_step = explanation_has_step(explanation, step);
    if (whose == OF_OTHERS)
        return has_step && !explanation_has_rank(explanation, rank);
    return rank == explanation->rank && has_step == (whose == OF_RANK_SLOW);
}

/* The median own time at the place; TIME_UNKNOWN. `list` has room for each rank and step. */
static int64_t middle_of(const struct explanation *explanation, const struct job *job,
                         const struct baseline *baseline, enum whose whose, int64_t *list)
{
    int32_t role = baseline->role_of_rank[explanation->rank];
    size_t count = 0;
    for (size_t at = 0; at < baseline->roles[role].rank_count; at++)
        for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
            int32_t cell = baseline_cell(baseline, role, explanation->position, at, step);
            if (cell >= 0 && job->operations[cell].own_ns != TIME_UNKNOWN &&
                belongs(explanation, baseline->roles[role].ranks[at], step, whose))
                list[count++] = job->operations[cell].own_ns;
        }
    return median_of(list, count);
}

static int say_times(const struct explanation *explanation, enum finding_kind kind, const struct job *job,
                     const struct baseline *baseline, int64_t *list, struct buffer *text)
{
    int32_t role = baseline->role_of_rank[explanation->rank];
    int32_t cell = baseline_cell(baseline, role, explanation->position,
                                 (size_t)baseline->rank_in_role[explanation->rank], explanation->steps.first);
    int64_t slow_ns = middle_of(explanation, job, baseline, OF_RANK_SLOW, list);
    int64_t others_ns = middle_of(explanation, job, baseline, OF_OTHERS, list);
    int64_t else_ns = middle_of(explanation, job, baseline, OF_RANK_ELSE, list);
    const char *function = cell >= 0 ? function_name(job->operations[cell].function) : NULL;
    if (slow_ns == TIME_UNKNOWN)
        return 0;
    int failed =
        buffer_printf(text, "gap before operation %d of the step (%s): rank %s ", (int)explanation->position,
                      function ? function : "operation", job->ranks[explanation->rank].name) ||
        text_time(text, slow_ns);
    if (!failed && others_ns != TIME_UNKNOWN)
        failed = buffer_append_text(text, ", other ranks of its role ") || text_time(text, others_ns);
    if (!failed && else_ns != TIME_UNKNOWN)
        failed = buffer_append_text(text, ", itself in other steps ") || text_time(text, else_ns);
    return failed || buffer_append_text(text, kind == FINDING_HOST ? "; its host enqueued late"
                                                                   : "; its host had enqueued before");
}

int evidence_of_explanation(const struct explanation *explanation, enum finding_kind kind,
                            const struct job *job, const struct baseline *baseline, struct buffer *text)
{
    int32_t role = baseline->role_of_rank[explanation->rank];
    if (explanation->position < 0 || role < 0)
        return 0;
    int64_t *list = array_new(baseline->roles[role].rank_count * (size_t)baseline->step_count, sizeof *list);
    int failed = !list || say_times(explanation, kind, job, baseline, list, text);
    free(list);
    return failed ? -1 : 0;
}
