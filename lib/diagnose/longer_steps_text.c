/*
 * The cautions about longer steps: which steps, by how much, and which operation became slower. That no rank
 * can be blamed is no reason not to report them.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/*
 * The operation that became slower in a block of longer steps: the position in the step whose transfer took
 * longer, or before which more time passed, than in the normal steps.
 */
struct grown_operation {
    int32_t operation; /* an example in the block; -1: none became slower */
    int32_t position;
    /*
     * Difference of the medians of the block and of the normal steps, on the rank with the greatest
     * difference
     */
    int64_t grown_ns;
    int transfers;     /* the transfer became slower; 0: the gap before it became longer */
    int32_t ranks;     /* ranks with at least half of that difference */
    int32_t of_ranks;  /* ranks in the role */
    int32_t rank;      /* the rank with the greatest difference */
    int32_t last_rank; /* the rank that arrived last there most often; -1: not known */
    int32_t times_last;
    int32_t times; /* number of steps in which that is known */
};

/* The steps of a block, and the steps it is compared with: of the same load, and in no block. */
struct sides {
    unsigned char *of_step; /* owned, by step: SIDE_ROW, SIDE_USUAL or 0 */
    int64_t *list;          /* owned; room for all steps */
};

enum { SIDE_ROW = 1, SIDE_USUAL = 2 };

static int sides_init(struct sides *sides, const struct baseline *baseline, const struct longer_steps *longer,
                      const struct longer_row *row)
{
    size_t steps = (size_t)baseline->step_count;
    *sides = (struct sides){.of_step = array_new(steps, 1), .list = array_new(steps, sizeof *sides->list)};
    if (!sides->of_step || !sides->list)
        return -1;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        if (longer->usual.load[step] == longer->usual.load[row->first])
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
    free(sides->list);
}

/* A position of the step on one rank. */
struct spot {
    int32_t role;
    int32_t position;
    size_t rank; /* index in the role */
};

static int64_t value_of(const struct job *job, int32_t operation, int transfers)
{
    return transfers ? job->instances[job->operations[operation].instance].transfer_ns
                     : job->operations[operation].own_ns;
}

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

/* The median of one side; TIME_UNKNOWN: none. */
static int64_t middle_of(const struct sides *sides, const struct job *job, const struct baseline *baseline,
                         const struct spot *spot, int side, int transfers)
{
    size_t count = 0;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        if (sides->of_step[step] != side)
            continue;
        int32_t at = cell_alike(job, baseline, spot, step);
        if (at < 0)
            continue;
        int64_t value = value_of(job, at, transfers);
        if (value != TIME_UNKNOWN)
            sides->list[count++] = value;
    }
    return median_of(sides->list, count);
}

/* By how much it became slower on a rank; 0 where it did not, or is not known. */
static int64_t growth_at(const struct sides *sides, const struct job *job, const struct baseline *baseline,
                         const struct spot *spot, int transfers)
{
    int64_t row = middle_of(sides, job, baseline, spot, SIDE_ROW, transfers);
    int64_t usual =
        row == TIME_UNKNOWN ? TIME_UNKNOWN : middle_of(sides, job, baseline, spot, SIDE_USUAL, transfers);
    return usual != TIME_UNKNOWN && row > usual ? row - usual : 0;
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

static void look_at_place(struct grown_operation *grown, const struct sides *sides, const struct job *job,
                          const struct baseline *baseline, const struct longer_row *row, struct spot spot)
{
    size_t ranks = baseline->roles[spot.role].rank_count;
    for (int transfers = 0; transfers < 2; transfers++)
        for (spot.rank = 0; spot.rank < ranks; spot.rank++) {
            int64_t ns = growth_at(sides, job, baseline, &spot, transfers);
            if (ns <= grown->grown_ns)
                continue;
            *grown = (struct grown_operation){.operation = example_of(job, baseline, &spot, row),
                                              .position = spot.position,
                                              .grown_ns = ns,
                                              .transfers = transfers,
                                              .of_ranks = (int32_t)ranks,
                                              .rank = baseline->roles[spot.role].ranks[spot.rank],
                                              .last_rank = -1};
        }
}

static void count_ranks(struct grown_operation *grown, const struct sides *sides, const struct job *job,
                        const struct baseline *baseline)
{
    struct spot spot = {.role = baseline->role_of_rank[grown->rank], .position = grown->position};
    for (spot.rank = 0; spot.rank < baseline->roles[spot.role].rank_count; spot.rank++)
        grown->ranks += growth_at(sides, job, baseline, &spot, grown->transfers) >= grown->grown_ns / 2;
}

static int count_last(struct grown_operation *grown, const struct job *job, const struct baseline *baseline,
                      const struct longer_row *row)
{
    const struct spot spot = {.role = baseline->role_of_rank[grown->rank],
                              .position = grown->position,
                              .rank = (size_t)baseline->rank_in_role[grown->rank]};
    int32_t *times = array_new(job->rank_count, sizeof *times);
    if (!times)
        return -1;
    for (int32_t step = row->first; step <= row->last; step++) {
        int32_t at = cell_alike(job, baseline, &spot, step);
        int32_t instance = at < 0 ? -1 : job->operations[at].instance;
        int32_t at_last = instance < 0 ? -1 : arrival_last(job, &job->instances[instance]);
        int32_t last = at_last < 0 ? -1 : job->operations[at_last].rank;
        if (last < 0)
            continue;
        grown->times++;
        if (++times[last] > grown->times_last) {
            grown->times_last = times[last];
            grown->last_rank = last;
        }
    }
    free(times);
    return 0;
}

/* A difference below one part in PART_EXPLAINED of that of the step does not explain it. */
enum { PART_EXPLAINED = 10 };

/* -1 when memory runs out. */
static int grown_operation_find(struct grown_operation *grown, const struct job *job,
                                const struct baseline *baseline, const struct longer_steps *longer,
                                const struct longer_row *row)
{
    struct sides sides;
    *grown = (struct grown_operation){.operation = -1, .last_rank = -1};
    int failed = sides_init(&sides, baseline, longer, row);
    for (size_t role = 0; !failed && role < baseline->role_count; role++)
        for (int32_t position = 0; position < baseline->roles[role].length; position++)
            look_at_place(grown, &sides, job, baseline, row, (struct spot){(int32_t)role, position, 0});
    if (!failed && grown->grown_ns < row->lost_ns / row->steps / PART_EXPLAINED)
        grown->operation = -1;
    if (!failed && grown->operation >= 0) {
        count_ranks(grown, &sides, job, baseline);
        failed = count_last(grown, job, baseline, row);
        /* Users count the operations of a step from its first. */
        const struct role *role = &baseline->roles[baseline->role_of_rank[grown->rank]];
        grown->position -= role_sequence(role, grown->position).begin;
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
    return failed || buffer_append_text(text, "; the cause cannot be determined from this trace");
}

/*
 * Appends ". Most of the increase: 5.8 ms before operation 3 of the step (AllReduce, ranks 0-7), on 7 of 8
 * ranks".
 */
static int append_grown(const struct job *job, const struct grown_operation *grown, struct buffer *text)
{
    const struct job_operation *operation = &job->operations[grown->operation];
    const char *tag = job_tag(job, operation->tag);
    if (buffer_append_text(text, ". Most of the increase: ") || text_time(text, grown->grown_ns) ||
        buffer_append_text(text, grown->transfers ? " in the transfer time of " : " before ") ||
        text_place(text, grown->position + 1, "the step", function_name(operation->function),
                   &job->communicators[operation->communicator]) ||
        (tag && (buffer_append_text(text, ", phase ") || buffer_append_text(text, tag))))
        return -1;
    if (grown->transfers)
        return 0;
    if (buffer_append_text(text, ", on "))
        return -1;
    return grown->ranks > 1 ? buffer_printf(text, "%d of %d ranks", (int)grown->ranks, (int)grown->of_ranks)
                            : buffer_printf(text, "rank %s", job->ranks[grown->rank].name);
}

static int append_last(const struct job *job, const struct grown_operation *grown, struct buffer *text)
{
    return grown->last_rank < 0
               ? 0
               : buffer_printf(text, ". Rank %s arrived last there in %d of %d steps",
                               job->ranks[grown->last_rank].name, (int)grown->times_last, (int)grown->times);
}

/*
 * Appends the cause: for a single step its slow transfer, otherwise the operation that became slower in most
 * steps.
 */
static int append_cause(const struct job *job, const struct baseline *baseline,
                        const struct transfer_excess *transfers, const struct longer_steps *longer,
                        const struct longer_row *row, struct buffer *text)
{
    struct grown_operation grown;
    int32_t slowest = slowest_in(job, transfers, row);
    if (slowest >= 0)
        return append_slowest(job, transfers, slowest, text);
    if (grown_operation_find(&grown, job, baseline, longer, row))
        return -1;
    return grown.operation < 0 ? 0 : append_grown(job, &grown, text) || append_last(job, &grown, text);
}

static int warn_of_row(const struct job *job, const struct baseline *baseline,
                       const struct transfer_excess *transfers, const struct longer_steps *longer,
                       const struct longer_row *row, struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int failed =
        append_steps(longer, row, &text) || (!longer->period && row->first >= 0 &&
                                             append_cause(job, baseline, transfers, longer, row, &text))
            ? error_no_memory(error)
            : table_add_warning(table, error, "run %lld: %s", (long long)job->run_id, text.data);
    buffer_release(&text);
    return failed;
}

/* The first and the last step of a load, and their baseline. */
struct longer_steps_text_stretch {
    int32_t first;
    int32_t last;
    int64_t usual_ns;
    int64_t bytes;
};

/* The steps of one load from `step` on, whether or not steps of other loads lie between them. */
static struct longer_steps_text_stretch stretch_of(const struct longer_steps *longer, int32_t step_count,
                                                   int32_t load)
{
    struct longer_steps_text_stretch stretch = {.first = -1};
    for (int32_t step = 0; step < step_count; step++) {
        if (longer->usual.load[step] != load || longer->usual.usual_ns[step] == TIME_UNKNOWN)
            continue;
        if (stretch.first < 0)
            stretch.first = step;
        stretch.last = step;
        stretch.usual_ns = longer->usual.usual_ns[step];
        stretch.bytes = longer->usual.bytes[step];
    }
    return stretch;
}

/* Steps count as longer with the load from this ratio on. */
static const double GROWN = 1.1;

/* Adds a caution where a greater load replaces a smaller one for good and makes the steps longer. */
static int caution_grown_load(const struct job *job, const struct longer_steps *longer, struct table *table,
                              struct error *error)
{
    for (int32_t load = 1; longer->usual.load && load < longer->usual.load_count; load++) {
        struct longer_steps_text_stretch before = stretch_of(longer, job->step_count, load - 1),
                                         after = stretch_of(longer, job->step_count, load);
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
            text_json_key(json, "explained") || buffer_append_text(json, row->explained ? "true}" : "false}"))
            return -1;
    }
    return 0;
}
