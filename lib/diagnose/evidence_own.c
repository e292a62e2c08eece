#include "diagnose/evidence_own.h"

#include "base/array.h"
#include "base/statistics.h"
#include "baseline/cells.h"
#include "diagnose/host_or_gpu.h"
#include "job/excerpts.h"
#include "verdict/words.h"

#include <stdio.h>
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

/* Where it was latest at a place. */
static const struct job_operation *operation_at(const struct suspect *suspect, const struct job *job,
                                                const struct baseline *baseline, int32_t position)
{
    const struct job_operation *latest = NULL;
    int64_t latest_ns = 0;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i], excess_ns_at(&baseline->excess, i)) &&
            baseline->positions[i] == position && excess_ns_at(&baseline->excess, i) > latest_ns) {
            latest = &job->operations[i];
            latest_ns = excess_ns_at(&baseline->excess, i);
        }
    return latest;
}

/* A host that waits for its GPU after the last operation of a step enqueues the next one late, too. */
static const char *say_doubt(const struct suspect *suspect, int32_t position)
{
    return suspect->kind == FINDING_HOST && !position
               ? ". A host that is still waiting for its GPU looks the same"
               : "";
}

/* What a rank took at a place, its peers there, and itself in other steps. */
struct own_times {
    int64_t mine_ns;
    int64_t others_ns;
    int64_t usual_ns;
};

static int measure_own(const struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                       int32_t position, struct own_times *times)
{
    return own_medians(suspect, job, baseline, position, &times->mine_ns, &times->others_ns) ||
                   own_history(suspect, job, baseline, position, &times->usual_ns)
               ? -1
               : 0;
}

static int stands_out(const struct own_times *times)
{
    return times->mine_ns > times->others_ns && times->mine_ns > times->usual_ns;
}

/* "The gap before operation 3 of the step (AllReduce, ranks 6-7)". */
static int say_place(const struct job *job, const struct job_operation *operation, int32_t position,
                     const char *before, const char *step, struct buffer *text)
{
    return buffer_append_text(text, before) ||
           text_place(text, position + 1, step, function_name(operation->function),
                      &job->communicators[operation->communicator]);
}

static int say_own(const struct suspect *suspect, const struct job *job,
                   const struct job_operation *operation, int32_t position, const char *step,
                   const struct own_times *times, struct finding *finding)
{
    struct buffer *text = &finding->evidence;
    figures_add(&finding->figures, "call", (double)position + 1);
    figures_add_time(&finding->figures, "gap_us", times->mine_ns);
    figures_add_time(&finding->figures, "peers_gap_us", times->others_ns);
    figures_add_time(&finding->figures, "other_steps_gap_us", times->usual_ns);
    return say_place(job, operation, position, "The gap before ", step, text) ||
           buffer_append_text(text, " is ") || text_time(text, times->mine_ns) ||
           text_gaps(text, times->others_ns, times->usual_ns, job->ranks[suspect->rank].name) ||
           buffer_append_text(text, host_or_gpu_text(suspect->kind)) ||
           buffer_append_text(text, say_doubt(suspect, position)) ||
           (suspect->on_estimates &&
            buffer_append_text(text,
                               ". End times are estimated from the start of the next operation, because the "
                               "kernels record none"));
}

static int say_waited(const struct suspect *suspect, const struct job *job,
                      const struct job_operation *operation, int32_t position, int64_t excess_ns,
                      struct finding *finding)
{
    struct buffer *text = &finding->evidence;
    figures_add(&finding->figures, "call", (double)position + 1);
    figures_add(&finding->figures, "step", job_run_step(job, operation->step));
    figures_add_time(&finding->figures, "waited_longer_us", excess_ns);
    const char *rank = job->ranks[suspect->rank].name;
    return say_place(job, operation, position, "In ", "the step", text) ||
           buffer_printf(text, ", step %d, the other ranks waited for rank %s ",
                         (int)job_run_step(job, operation->step), rank) ||
           text_time(text, excess_ns) ||
           buffer_printf(text, " longer than the baseline. The gap time of rank %s before it is unknown",
                         rank);
}

/* Where the middle one of its steps is none of those that stand out at the place, the one in which it does
 * most. */
int evidence_of_own(const struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                    int32_t position, struct finding *finding)
{
    struct own_times times;
    char step[32] = "the step";
    int32_t role = baseline->role_of_rank[suspect->rank];
    int32_t number = position_in_step(&baseline->roles[role], position);
    const struct job_operation *latest = operation_at(suspect, job, baseline, position);
    if (!latest)
        return 0;
    if (measure_own(suspect, job, baseline, position, &times))
        return -1;
    if (times.mine_ns != TIME_UNKNOWN && !stands_out(&times)) {
        struct suspect once = *suspect;
        once.first_step = once.last_step = latest->step;
        snprintf(step, sizeof step, "step %d", (int)job_run_step(job, latest->step));
        if (measure_own(&once, job, baseline, position, &times))
            return -1;
    }
    return times.mine_ns == TIME_UNKNOWN
               ? say_waited(suspect, job, latest, number, excess_of(baseline, job, latest).excess_ns, finding)
               : say_own(suspect, job, latest, number, step, &times, finding);
}
