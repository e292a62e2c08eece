/*
 * The cautions about longer steps: which steps, by how much, and which operation became slower. That no rank
 * can be blamed is no reason not to report them.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/longer_steps.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

enum { PART_BEFORE, PART_INSIDE, PARTS };

/* What became slower in a block of longer steps, where it did most. */
struct growth {
    int32_t rank;     /* whose time before and inside its operations grew most; -1: nothing became slower */
    int64_t sum_ns;   /* by how much, over all positions of the step */
    int32_t position; /* where it grew most; -1: nowhere */
    int part;         /* before or inside this operation */
    int64_t most_ns;  /* by how much there: difference of the means of the two sides */
};

/* The steps of a block, and the steps it is compared with: of the same load, of known duration, in no block.
 */
struct sides {
    unsigned char *of_step; /* owned, by step: SIDE_ROW, SIDE_USUAL or 0 */
    int64_t *values[PARTS]; /* owned; by operation: its two parts; TIME_UNKNOWN */
};

enum { SIDE_ROW = 1, SIDE_USUAL = 2 };

/* Divides the time of each rank into what passes before and inside its operations. */
static void measure_parts(struct sides *sides, const struct job *job)
{
    for (int32_t rank = 0; rank < (int32_t)job->rank_count; rank++) {
        int64_t latest_ns = TIME_UNKNOWN;
        struct job_range range = job_operations_in(job, rank, 0, job->step_count - 1);
        for (size_t i = range.first; i < range.end; i++)
            if (job->operations[i].rank == rank)
                operation_parts(job, i, &latest_ns, &sides->values[PART_BEFORE][i],
                                &sides->values[PART_INSIDE][i]);
    }
}

static int sides_init(struct sides *sides, const struct job *job, const struct baseline *baseline,
                      const struct longer_steps *longer, const struct longer_row *row)
{
    size_t steps = (size_t)baseline->step_count;
    *sides = (struct sides){.of_step = array_new(steps, 1)};
    if (!sides->of_step)
        return -1;
    for (int part = 0; part < PARTS; part++) {
        sides->values[part] = array_new(job->operation_count, sizeof *sides->values[part]);
        if (!sides->values[part])
            return -1;
    }
    for (size_t i = 0; i < job->operation_count; i++)
        sides->values[PART_BEFORE][i] = sides->values[PART_INSIDE][i] = TIME_UNKNOWN;
    measure_parts(sides, job);
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        if (longer->usual.load[step] == longer->usual.load[row->first] &&
            baseline->step_ns[step] != TIME_UNKNOWN)
            sides->of_step[step] = SIDE_USUAL;
    for (size_t i = 0; i < longer->count; i++)
        for (int32_t step = longer->rows[i].first; step >= 0 && step <= longer->rows[i].last; step++)
            sides->of_step[step] = 0;
    for (int32_t step = row->first; step <= row->last; step++)
        sides->of_step[step] = SIDE_ROW;
    return 0;
}

static void sides_release(struct sides *sides)
{
    free(sides->of_step);
    for (int part = 0; part < PARTS; part++)
        free(sides->values[part]);
}

/* A position of the step on one rank. */
struct spot {
    int32_t role;
    int32_t position;
    size_t rank; /* index in the role */
};

/*
 * The operation at this position in a step; -1: none. Steps of another load may follow another call sequence
 * with as many calls, in which it is the call of the same number.
 */
static int32_t cell_alike(const struct job *job, const struct baseline *baseline, const struct spot *spot,
                          int32_t step)
{
    const struct role *role = &baseline->roles[spot->role];
    struct call_sequence_span own = role_sequence(role, spot->position), other;
    for (int32_t begin = 0; begin < role->length; begin = other.end) {
        other = role_sequence(role, begin);
        if (other.end - other.begin != own.end - own.begin)
            continue;
        int32_t position = other.begin + spot->position - own.begin;
        int32_t at = baseline_cell(baseline, spot->role, position, spot->rank, step);
        if (at >= 0 && job->operations[at].instance >= 0)
            return at;
    }
    return -1;
}

/*
 * The mean of one side; TIME_UNKNOWN: none. Means, unlike medians, add up to the time that the block lost,
 * even if other operations are slow in each of its steps.
 */
static int64_t mean_of(const struct sides *sides, const struct job *job, const struct baseline *baseline,
                       const struct spot *spot, int side, int part)
{
    int64_t count = 0, sum_ns = 0;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        if (sides->of_step[step] != side)
            continue;
        int32_t at = cell_alike(job, baseline, spot, step);
        if (at < 0 || sides->values[part][at] == TIME_UNKNOWN)
            continue;
        sum_ns += sides->values[part][at];
        count++;
    }
    return count ? sum_ns / count : TIME_UNKNOWN;
}

/* By how much it became slower on a rank, negative where it became faster; 0 where that is not known. */
static int64_t growth_at(const struct sides *sides, const struct job *job, const struct baseline *baseline,
                         const struct spot *spot, int part)
{
    int64_t row = mean_of(sides, job, baseline, spot, SIDE_ROW, part);
    int64_t usual =
        row == TIME_UNKNOWN ? TIME_UNKNOWN : mean_of(sides, job, baseline, spot, SIDE_USUAL, part);
    return usual == TIME_UNKNOWN ? 0 : row - usual;
}

/* An operation at this position in the block; -1: none. */
static int32_t example_of(const struct job *job, const struct baseline *baseline, const struct spot *spot,
                          const struct longer_row *row)
{
    int32_t at = -1;
    for (int32_t step = row->first; at < 0 && step <= row->last; step++)
        at = cell_alike(job, baseline, spot, step);
    return at;
}

static struct spot spot_of(const struct baseline *baseline, int32_t rank, int32_t position)
{
    return (struct spot){baseline->role_of_rank[rank], position, (size_t)baseline->rank_in_role[rank]};
}

/* The positions of a rank's calls in a block: those of the first call sequence that it follows there. */
static struct call_sequence_span positions_of(const struct job *job, const struct baseline *baseline,
                                              const struct longer_row *row, int32_t rank)
{
    const struct role *role = &baseline->roles[baseline->role_of_rank[rank]];
    struct job_range range = job_operations_in(job, rank, row->first, row->last);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->rank == rank && operation->step >= row->first && operation->step <= row->last &&
            baseline->positions[i] >= 0)
            return role_sequence(role, baseline->positions[i]);
    }
    return role_sequence(role, 0);
}

/* Sums up what became slower on a rank. */
static struct growth growth_of(const struct sides *sides, const struct job *job,
                               const struct baseline *baseline, const struct longer_row *row, int32_t rank)
{
    struct call_sequence_span span = positions_of(job, baseline, row, rank);
    struct growth growth = {.rank = rank, .position = -1};
    for (int32_t position = span.begin; position < span.end; position++)
        for (int part = 0; part < PARTS; part++) {
            struct spot spot = spot_of(baseline, rank, position);
            int64_t ns = growth_at(sides, job, baseline, &spot, part);
            growth.sum_ns += ns;
            if (ns <= growth.most_ns)
                continue;
            growth.most_ns = ns;
            growth.position = position;
            growth.part = part;
        }
    return growth;
}

static struct growth greatest_growth(const struct sides *sides, const struct job *job,
                                     const struct baseline *baseline, const struct longer_row *row)
{
    struct growth greatest = {.rank = -1, .position = -1};
    for (int32_t rank = 0; rank < (int32_t)job->rank_count; rank++) {
        if (baseline->role_of_rank[rank] < 0)
            continue;
        struct growth growth = growth_of(sides, job, baseline, row, rank);
        if (growth.sum_ns > greatest.sum_ns)
            greatest = growth;
    }
    return greatest;
}

/* The number of ranks of the role that became at least half as much slower there. */
static int32_t count_ranks(const struct sides *sides, const struct job *job, const struct baseline *baseline,
                           const struct growth *growth)
{
    struct spot spot = spot_of(baseline, growth->rank, growth->position);
    int32_t count = 0;
    for (spot.rank = 0; spot.rank < baseline->roles[spot.role].rank_count; spot.rank++)
        count += growth_at(sides, job, baseline, &spot, growth->part) >= growth->most_ns / 2;
    return count;
}

/* A growth below one part in PART_EXPLAINED of that of the step is not named. */
enum { PART_EXPLAINED = 10 };

int longer_row_ranks(const struct job *job, const struct baseline *baseline,
                     const struct longer_steps *longer, const struct longer_row *row, int32_t *ranks)
{
    struct sides sides;
    int failed = sides_init(&sides, job, baseline, longer, row);
    *ranks = 0;
    if (!failed) {
        struct growth growth = greatest_growth(&sides, job, baseline, row);
        if (growth.position >= 0 && growth.part == PART_BEFORE)
            *ranks = count_ranks(&sides, job, baseline, &growth);
    }
    sides_release(&sides);
    return failed;
}

/* The cautions about steps that became longer. */

/*
 * The slowest transfer of these steps that has no culprit; -1 where none explains half of the difference of a
 * step.
 */
static int32_t slowest_in(const struct job *job, const struct transfer_excess *transfers,
                          const struct longer_row *row)
{
    int32_t slowest = -1;
    int64_t least_ns = row->lost_ns / row->steps / 2;
    struct job_range instances = job_instances_in(job, row->first, row->last);
    for (size_t i = instances.first; i < instances.end; i++) {
        int32_t at = job->by_step[i];
        if (transfers[at].culprit < 0 && transfers[at].slow_ns >= least_ns &&
            (slowest < 0 || transfers[at].slow_ns > transfers[slowest].slow_ns))
            slowest = at;
    }
    return slowest;
}

static int append_slowest(const struct job *job, const struct transfer_excess *transfers, int32_t number,
                          struct buffer *text)
{
    const struct job_instance *instance = &job->instances[number];
    const int32_t *members = job->instance_members + instance->first_member;
    int64_t usual_ns = transfer_usual_ns(instance, &transfers[number]);
    if (usual_ns == TIME_UNKNOWN)
        return 0;
    if (buffer_append_text(text, ". ") || text_operation(text, job, instance, instance->function) ||
        buffer_printf(text, " had a transfer time of %.1f ms (baseline %.1f ms)",
                      (double)instance->transfer_ns / 1e6, (double)usual_ns / 1e6))
        return -1;
    if (instance->members != 2 || instance->sender >= 0)
        return 0;
    return buffer_printf(text, ", between ranks %s and %s", job->ranks[job->operations[members[0]].rank].name,
                         job->ranks[job->operations[members[1]].rank].name);
}

static int append_steps(const struct longer_steps *longer, const struct longer_row *row, struct buffer *text)
{
    int first = (int)row->run_first, last = (int)row->run_last;
    int failed = first == last ? buffer_printf(text, "step %d took", first)
                               : buffer_printf(text, "steps %d-%d took", first, last);
    failed = failed || buffer_printf(text, " %.1f ms%s (baseline %.1f ms)", (double)row->took_ns / 1e6,
                                     first == last ? "" : " each", (double)row->usual_ns / 1e6);
    if (!failed && longer->period)
        return buffer_printf(
            text,
            "; this repeats every %d steps, which suggests a checkpoint or evaluation, not a "
            "slow rank",
            (int)longer->period);
    if (!failed && row->transfer_ns)
        return buffer_printf(
            text,
            "; the transfers themselves took longer (%.2f ms on average, baseline %.2f ms), on "
            "all ranks; this trace does not show which link is slow, or whether a busy GPU or "
            "CPU slows them down",
            (double)row->transfer_ns / 1e6, (double)row->usual_transfer_ns / 1e6);
    return failed || buffer_append_text(text, "; the cause cannot be determined from this trace");
}

/*
 * Appends ". Most of the increase: 5.8 ms before operation 3 of the step (AllReduce, ranks 0-7), phase
 * backward, on 7 of 8 ranks"; "The largest increase" where it is less than half.
 */
static int append_growth(const struct sides *sides, const struct job *job, const struct baseline *baseline,
                         const struct longer_row *row, const struct growth *growth, struct buffer *text)
{
    const struct spot spot = spot_of(baseline, growth->rank, growth->position);
    const struct job_operation *operation = &job->operations[example_of(job, baseline, &spot, row)];
    const struct role *role = &baseline->roles[spot.role];
    const char *tag = job_tag(job, operation->tag);
    int32_t ranks = count_ranks(sides, job, baseline, growth);
    int is_most = growth->most_ns * 2 >= row->lost_ns / row->steps;
    if (buffer_append_text(text, is_most ? ". Most of the increase: " : ". The largest increase: ") ||
        text_time(text, growth->most_ns) ||
        buffer_append_text(text, growth->part == PART_INSIDE ? " in the transfer time of " : " before ") ||
        /* Users count the operations of a step from its first. */
        text_place(text, growth->position - role_sequence(role, growth->position).begin + 1, "the step",
                   function_name(operation->function), &job->communicators[operation->communicator]) ||
        (tag && (buffer_append_text(text, ", phase ") || buffer_append_text(text, tag))))
        return -1;
    return ranks > 1 ? buffer_printf(text, ", on %d of %d ranks", (int)ranks, (int)role->rank_count)
                     : buffer_printf(text, ", on rank %s", job->ranks[growth->rank].name);
}

/* Appends the operation that became slower in most steps. */
static int append_slower(const struct job *job, const struct baseline *baseline,
                         const struct longer_steps *longer, const struct longer_row *row, struct buffer *text)
{
    struct sides sides;
    int failed = sides_init(&sides, job, baseline, longer, row);
    if (!failed) {
        struct growth growth = greatest_growth(&sides, job, baseline, row);
        if (growth.position >= 0 && growth.most_ns >= row->lost_ns / row->steps / PART_EXPLAINED)
            failed = append_growth(&sides, job, baseline, row, &growth, text);
    }
    sides_release(&sides);
    return failed;
}

/*
 * Appends the cause: for a single step its slow transfer, otherwise the operation that became slower in most
 * steps.
 */
static int append_cause(const struct job *job, const struct baseline *baseline,
                        const struct transfer_excess *transfers, const struct longer_steps *longer,
                        const struct longer_row *row, struct buffer *text)
{
    int32_t slowest = slowest_in(job, transfers, row);
    return slowest >= 0 ? append_slowest(job, transfers, slowest, text)
                        : append_slower(job, baseline, longer, row, text);
}

static int warn_of_row(const struct job *job, const struct baseline *baseline,
                       const struct transfer_excess *transfers, const struct longer_steps *longer,
                       const struct longer_row *row, struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int failed =
        append_steps(longer, row, &text) ||
                (row->first >= 0 && append_cause(job, baseline, transfers, longer, row, &text)) ||
                (row->run_first == longer->observed.run_first && observed_append(&longer->observed, &text))
            ? error_no_memory(error)
            : table_add_warning(table, error, "run %lld: %s", (long long)job->run_id, text.data);
    buffer_release(&text);
    return failed;
}

/* The first and the last step of a load, and their baseline. */
struct load_steps {
    int32_t first;
    int32_t last;
    int64_t usual_ns;
    int64_t bytes;
};

/* The steps of one load from `step` on, whether or not steps of other loads lie between them. */
static struct load_steps steps_of(const struct longer_steps *longer, int32_t step_count, int32_t load)
{
    struct load_steps found = {.first = -1};
    for (int32_t step = 0; step < step_count; step++) {
        if (longer->usual.load[step] != load || longer->usual.usual_ns[step] == TIME_UNKNOWN)
            continue;
        if (found.first < 0)
            found.first = step;
        found.last = step;
        found.usual_ns = longer->usual.usual_ns[step];
        found.bytes = longer->usual.bytes[step];
    }
    return found;
}

/* Steps count as longer with the load from this ratio on. */
static const double GROWN = 1.1;

/* Adds a caution where a greater load replaces a smaller one for good and makes the steps longer. */
static int caution_grown_load(const struct job *job, const struct longer_steps *longer, struct table *table,
                              struct error *error)
{
    for (int32_t load = 1; longer->usual.load && load < longer->usual.load_count; load++) {
        struct load_steps before = steps_of(longer, job->step_count, load - 1),
                          after = steps_of(longer, job->step_count, load);
        if (before.first < 0 || after.first < before.last || after.bytes <= before.bytes ||
            (double)after.usual_ns < GROWN * (double)before.usual_ns)
            continue;
        if (table_add_warning(
                table, error,
                "run %lld: steps %d-%d took %.1f ms instead of %.1f ms (steps %d-%d) because they move %.2f "
                "times as many bytes: this is more load, not a fault",
                (long long)job->run_id, (int)job_run_step(job, after.first),
                (int)job_run_step(job, after.last), (double)after.usual_ns / 1e6,
                (double)before.usual_ns / 1e6, (int)job_run_step(job, before.first),
                (int)job_run_step(job, before.last),
                before.bytes > 0 ? (double)after.bytes / (double)before.bytes : 0.0))
            return -1;
    }
    return 0;
}

int caution_longer_steps(const struct job *job, const struct baseline *baseline,
                         const struct transfer_excess *transfers, const struct longer_steps *longer,
                         struct table *table, struct error *error)
{
    const struct longer_row *row = longer_steps_unexplained(longer);
    if (row && warn_of_row(job, baseline, transfers, longer, row, table, error))
        return -1;
    return caution_grown_load(job, longer, table, error);
}

int longer_steps_add_json(const struct longer_steps *longer, const struct job *job, struct buffer *json)
{
    for (size_t i = 0; i < longer->count; i++) {
        const struct longer_row *row = &longer->rows[i];
        size_t length = json->length;
        if ((length && json->data[length - 1] == '}' && buffer_append_byte(json, ',')) ||
            buffer_append_byte(json, '{') || text_json_integer(json, "run", job->run_id) ||
            text_json_integer(json, "first_step", row->run_first) ||
            text_json_integer(json, "last_step", row->run_last) ||
            text_json_us(json, "usual_us", row->usual_ns) || text_json_us(json, "took_us", row->took_ns) ||
            text_json_key(json, "explained") || buffer_append_text(json, row->explained ? "true" : "false") ||
            causes_list_json("observed", longer->observed.items,
                             row->run_first == longer->observed.run_first ? longer->observed.count : 0,
                             json) ||
            buffer_append_byte(json, '}'))
            return -1;
    }
    return 0;
}
