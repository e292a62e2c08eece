#include "verdict/unexplained_steps.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/scale.h"
#include "base/statistics.h"
#include "job/step_index.h"
#include "verdict/words.h"

#include <stdlib.h>

/*
 * Steps that were longer than usual while no finding says anything of it: that a trace cannot tell whose
 * fault it was is no reason to be silent about it.
 */

/* Several in a row are each longer by so much of the median step at least; one alone is twice as long. */
static const double LONGER = 0.1;

struct long_steps {
    int32_t first;
    int32_t last;
    int64_t longer_ns; /* in all */
    int one_is_twice;  /* as long as usual, or more */
};

/* 0 where its length is not known. */
static int64_t longer_ns(const struct baseline *baseline, int32_t step)
{
    return baseline->step_ns[step] == TIME_UNKNOWN ? 0 : baseline->step_ns[step] - baseline->median_step_ns;
}

/* What steps differ by anyway is less, unless it is a whole one. `list` has room for all. */
static int64_t least_longer_ns(const struct baseline *baseline, double sigmas, int64_t *list)
{
    size_t count = 0;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        if (baseline->step_ns[step] != TIME_UNKNOWN)
            list[count++] = baseline->step_ns[step];
    int64_t sigma = count ? sigma_about(list, count, baseline->median_step_ns) : 0;
    int64_t noise_ns = scale(sigma, sigmas), share_ns = scale(baseline->median_step_ns, LONGER);
    int64_t least_ns = noise_ns > share_ns ? noise_ns : share_ns;
    return least_ns < baseline->median_step_ns ? least_ns : baseline->median_step_ns;
}

/* The steps from `first` on that are as long as that and that nothing explains. */
static struct long_steps row_from(const struct baseline *baseline, const struct findings *findings,
                                  int32_t first, int64_t least_ns)
{
    struct long_steps row = {.first = first, .last = first - 1};
    for (int32_t step = first; step < baseline->step_count; step++) {
        int64_t ns = longer_ns(baseline, step);
        if (ns < least_ns || findings_explain(findings, step, ns))
            break;
        row.last = step;
        row.longer_ns += ns;
        row.one_is_twice |= ns >= baseline->median_step_ns;
    }
    return row;
}

/*
 * Those that were longer in all than any others. What begins with the first step after the warm-up may still
 * be part of that.
 */
static struct long_steps longest_row(const struct baseline *baseline, const struct findings *findings,
                                     int64_t least_ns)
{
    struct long_steps longest = {.longer_ns = 0};
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        struct long_steps row = row_from(baseline, findings, step, least_ns);
        int is_after_warm_up = row.first > baseline->first_step;
        if (is_after_warm_up && (row.last > row.first || row.one_is_twice) &&
            row.longer_ns > longest.longer_ns)
            longest = row;
        step = row.last > step ? row.last : step;
    }
    return longest;
}

/* The slowest transfer of those steps that nobody is to blame for; -1 where none explains half of one's. */
static int32_t slowest_in(const struct job *job, const struct transfer_excess *transfers,
                          const struct long_steps *row)
{
    int32_t slowest = -1;
    int64_t least_ns = row->longer_ns / (row->last - row->first + 1) / 2;
    struct job_range instances = job_instances_in(job, row->first, row->last);
    for (size_t i = instances.first; i < instances.end; i++) {
        int32_t at = job->by_step[i];
        if (transfers[at].culprit < 0 && transfers[at].slow_ns >= least_ns &&
            (slowest < 0 || transfers[at].slow_ns > transfers[slowest].slow_ns))
            slowest = at;
    }
    return slowest;
}

static int say_slowest(const struct job *job, const struct transfer_excess *transfers, int32_t number,
                       struct buffer *text)
{
    const struct job_instance *instance = &job->instances[number];
    const int32_t *members = job->instance_members + instance->first_member;
    int64_t usual_ns = transfer_usual_ns(instance, &transfers[number]);
    if (usual_ns == TIME_UNKNOWN)
        return 0;
    if (buffer_append_text(text, ": ") || text_operation(text, job, instance, instance->function) ||
        buffer_printf(text, " took %.1f ms to transfer, usually %.1f ms", (double)instance->transfer_ns / 1e6,
                      (double)usual_ns / 1e6))
        return -1;
    if (instance->members != 2 || instance->sender >= 0)
        return 0;
    return buffer_printf(text, " (ranks %s and %s)", job->ranks[job->operations[members[0]].rank].name,
                         job->ranks[job->operations[members[1]].rank].name);
}

static int say_steps(const struct long_steps *row, const struct baseline *baseline, struct buffer *text)
{
    int64_t each_ns = baseline->median_step_ns + row->longer_ns / (row->last - row->first + 1);
    int failed = row->first == row->last
                     ? buffer_printf(text, "step %d lasted", (int)row->first)
                     : buffer_printf(text, "steps %d to %d lasted", (int)row->first, (int)row->last);
    return failed ||
           buffer_printf(text, " %.1f ms%s, usually %.1f ms: the trace cannot tell whose fault it is",
                         (double)each_ns / 1e6, row->first == row->last ? "" : " each",
                         (double)baseline->median_step_ns / 1e6);
}

static int warn_of_row(const struct job *job, const struct baseline *baseline,
                       const struct transfer_excess *transfers, const struct long_steps *row,
                       struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int32_t slowest = slowest_in(job, transfers, row);
    int failed =
        say_steps(row, baseline, &text) || (slowest >= 0 && say_slowest(job, transfers, slowest, &text))
            ? error_no_memory(error)
            : table_add_warning(table, error, "run %lld: %s", (long long)job->run_id, text.data);
    buffer_release(&text);
    return failed;
}

int caution_unexplained(const struct job *job, const struct baseline *baseline,
                        const struct transfer_excess *transfers, const struct findings *findings,
                        double sigmas, struct table *table, struct error *error)
{
    if (!baseline->step_ns || !baseline->median_step_ns || !baseline_is_regular(baseline))
        return 0;
    int64_t *list = array_new((size_t)baseline->step_count, sizeof *list);
    if (!list)
        return error_no_memory(error);
    struct long_steps row = longest_row(baseline, findings, least_longer_ns(baseline, sigmas, list));
    free(list);
    return row.longer_ns ? warn_of_row(job, baseline, transfers, &row, table, error) : 0;
}
