#include "diagnose/evidence_explained.h"

#include "base/array.h"
#include "base/statistics.h"
#include "baseline/cells.h"
#include "diagnose/host_or_gpu.h"
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

static int say_times(const struct explanation *explanation, const struct job *job,
                     const struct baseline *baseline, int64_t *list, struct finding *finding)
{
    int32_t role = baseline->role_of_rank[explanation->rank], call = explanation->position + 1;
    int32_t cell = baseline_cell(baseline, role, explanation->position,
                                 (size_t)baseline->rank_in_role[explanation->rank], explanation->steps.first);
    int64_t slow_ns = middle_of(explanation, job, baseline, OF_RANK_SLOW, list);
    int64_t others_ns = middle_of(explanation, job, baseline, OF_OTHERS, list);
    int64_t else_ns = middle_of(explanation, job, baseline, OF_RANK_ELSE, list);
    const char *function = cell >= 0 ? function_name(job->operations[cell].function) : NULL;
    const char *rank = job->ranks[explanation->rank].name;
    struct buffer *text = &finding->evidence;
    if (slow_ns == TIME_UNKNOWN)
        return 0;
    figures_add(&finding->figures, "call", call);
    figures_add_time(&finding->figures, "gap_us", slow_ns);
    figures_add_time(&finding->figures, "peers_gap_us", others_ns);
    figures_add_time(&finding->figures, "other_steps_gap_us", else_ns);
    return buffer_append_text(text, "The gap before ") ||
           text_place(text, call, "the step", function, NULL) ||
           buffer_printf(text, " on rank %s is ", rank) || text_time(text, slow_ns) ||
           text_gaps(text, others_ns, else_ns, rank) ||
           buffer_append_text(text, host_or_gpu_text(finding->kind));
}

int evidence_of_explanation(const struct explanation *explanation, const struct job *job,
                            const struct baseline *baseline, struct finding *finding)
{
    int32_t role = baseline->role_of_rank[explanation->rank];
    if (explanation->position < 0 || role < 0)
        return 0;
    int64_t *list = array_new(baseline->roles[role].rank_count * (size_t)baseline->step_count, sizeof *list);
    int failed = !list || say_times(explanation, job, baseline, list, finding);
    free(list);
    return failed ? -1 : 0;
}
