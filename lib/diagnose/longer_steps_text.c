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

enum { PART_BEFORE, PART_INSIDE, PARTS };

/* By how much operations of one rank became slower: the time before them, or their transfers. */
struct growth {
    int64_t sum_ns;   /* over the positions of the step: difference of the means of the two sides */
    int64_t most_ns;  /* the greatest of these differences */
    int32_t position; /* where that is; -1: nowhere */
    int32_t counts[FUNCTION_COUNT]; /* of the positions with at least a tenth of it */
};

/*
 * What became slower in a block of longer steps, on the rank that waits least for others: its time before and
 * inside operations grew most.
 */
struct grown_operations {
    int32_t rank; /* -1: nothing became slower */
    struct growth parts[PARTS];
    int32_t ranks;     /* ranks that have at least half of the greatest growth before an operation */
    int32_t of_ranks;  /* ranks in the role */
    int32_t last_rank; /* the rank that arrived last there most often; -1: not known */
    int32_t times_last;
    int32_t times; /* number of steps in which that is known */
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
                               const struct baseline *baseline, struct call_sequence_span span, int32_t rank,
                               int part)
{
    struct growth growth = {.position = -1};
    for (int32_t position = span.begin; position < span.end; position++) {
        struct spot spot = spot_of(baseline, rank, position);
        int64_t ns = growth_at(sides, job, baseline, &spot, part);
        growth.sum_ns += ns;
        if (ns <= growth.most_ns)
            continue;
        growth.most_ns = ns;
        growth.position = position;
    }
    return growth;
}

/* Counts, by function, the operations that have at least a tenth of the greatest growth. */
static void count_operations(struct growth *growth, const struct sides *sides, const struct job *job,
                             const struct baseline *baseline, const struct longer_row *row, int32_t rank,
                             int part)
{
    struct call_sequence_span span = positions_of(job, baseline, row, rank);
    for (int32_t position = span.begin; position < span.end && growth->position >= 0; position++) {
        struct spot spot = spot_of(baseline, rank, position);
        int64_t ns = growth_at(sides, job, baseline, &spot, part);
        int32_t at = ns > 0 && ns >= growth->most_ns / 10 ? example_of(job, baseline, &spot, row) : -1;
        if (at >= 0 && job->operations[at].function < FUNCTION_COUNT)
            growth->counts[job->operations[at].function]++;
    }
}

static void find_rank(struct grown_operations *grown, const struct sides *sides, const struct job *job,
                      const struct baseline *baseline, const struct longer_row *row)
{
    for (int32_t rank = 0; rank < (int32_t)job->rank_count; rank++) {
        if (baseline->role_of_rank[rank] < 0)
            continue;
        struct call_sequence_span span = positions_of(job, baseline, row, rank);
        struct growth before = growth_of(sides, job, baseline, span, rank, PART_BEFORE),
                      inside = growth_of(sides, job, baseline, span, rank, PART_INSIDE);
        if (before.sum_ns + inside.sum_ns <=
            grown->parts[PART_BEFORE].sum_ns + grown->parts[PART_INSIDE].sum_ns)
            continue;
        grown->parts[PART_BEFORE] = before;
        grown->parts[PART_INSIDE] = inside;
        grown->rank = rank;
    }
}

static void count_ranks(struct grown_operations *grown, const struct sides *sides, const struct job *job,
                        const struct baseline *baseline)
{
    const struct growth *before = &grown->parts[PART_BEFORE];
    struct spot spot = spot_of(baseline, grown->rank, before->position);
    grown->of_ranks = (int32_t)baseline->roles[spot.role].rank_count;
    for (spot.rank = 0; before->position >= 0 && spot.rank < (size_t)grown->of_ranks; spot.rank++)
        grown->ranks += growth_at(sides, job, baseline, &spot, PART_BEFORE) >= before->most_ns / 2;
}

static int count_last(struct grown_operations *grown, const struct job *job, const struct baseline *baseline,
                      const struct longer_row *row, int32_t position)
{
    const struct spot spot = spot_of(baseline, grown->rank, position);
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

/* A growth below one part in PART_EXPLAINED of that of the step is not named. */
enum { PART_EXPLAINED = 10 };

/* The part with the greater growth. */
static int leading_part(const struct grown_operations *grown)
{
    return grown->parts[PART_INSIDE].sum_ns > grown->parts[PART_BEFORE].sum_ns ? PART_INSIDE : PART_BEFORE;
}

/* -1 when memory runs out. */
static int grown_operations_find(struct grown_operations *grown, const struct job *job,
                                 const struct baseline *baseline, const struct longer_steps *longer,
                                 const struct longer_row *row)
{
    struct sides sides;
    *grown = (struct grown_operations){.rank = -1, .last_rank = -1};
    int failed = sides_init(&sides, job, baseline, longer, row);
    if (!failed)
        find_rank(grown, &sides, job, baseline, row);
    if (!failed && grown->rank >= 0 &&
        grown->parts[leading_part(grown)].sum_ns < row->lost_ns / row->steps / PART_EXPLAINED)
        grown->rank = -1;
    if (!failed && grown->rank >= 0) {
        for (int part = 0; part < PARTS; part++)
            count_operations(&grown->parts[part], &sides, job, baseline, row, grown->rank, part);
        count_ranks(grown, &sides, job, baseline);
        failed = count_last(grown, job, baseline, row, grown->parts[leading_part(grown)].position);
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

/* Appends "12 operations (7 AllGather, 5 ReduceScatter)" or "12 operations (AllReduce)". */
static int append_operations(const struct growth *growth, int32_t count, struct buffer *text)
{
    int first = 1;
    if (buffer_printf(text, "%d operations (", (int)count))
        return -1;
    for (int function = 0; function < FUNCTION_COUNT; function++) {
        if (!growth->counts[function])
            continue;
        if ((!first && buffer_append_text(text, ", ")) ||
            (growth->counts[function] < count && buffer_printf(text, "%d ", (int)growth->counts[function])) ||
            buffer_append_text(text, function_name((enum function)function)))
            return -1;
        first = 0;
    }
    return buffer_append_byte(text, ')');
}

/* Appends "5.8 ms before operation 3 of the step (AllReduce, ranks 0-7), phase backward, on 7 of 8 ranks". */
static int append_growth(const struct job *job, const struct baseline *baseline, const struct longer_row *row,
                         const struct grown_operations *grown, int part, struct buffer *text)
{
    const struct growth *growth = &grown->parts[part];
    const struct spot spot = spot_of(baseline, grown->rank, growth->position);
    const struct job_operation *operation = &job->operations[example_of(job, baseline, &spot, row)];
    const char *where = part == PART_INSIDE ? " in the transfer time of " : " before ";
    const char *tag = job_tag(job, operation->tag);
    int32_t count = 0;
    for (int function = 0; function < FUNCTION_COUNT; function++)
        count += growth->counts[function];
    if (text_time(text, count > 1 ? growth->sum_ns : growth->most_ns) || buffer_append_text(text, where))
        return -1;
    if (count > 1 &&
        (append_operations(growth, count, text) || buffer_append_text(text, ", up to ") ||
         text_time(text, growth->most_ns) || buffer_append_text(text, part == PART_INSIDE ? " in " : where)))
        return -1;
    /* Users count the operations of a step from its first. */
    int32_t position = growth->position - role_sequence(&baseline->roles[spot.role], growth->position).begin;
    if (text_place(text, position + 1, "the step", function_name(operation->function),
                   &job->communicators[operation->communicator]) ||
        (tag && (buffer_append_text(text, ", phase ") || buffer_append_text(text, tag))))
        return -1;
    if (part == PART_INSIDE)
        return 0;
    return grown->ranks > 1
               ? buffer_printf(text, ", on %d of %d ranks", (int)grown->ranks, (int)grown->of_ranks)
               : buffer_printf(text, ", on rank %s", job->ranks[grown->rank].name);
}

/* Appends what became slower, the greater part first. The other part follows if it is a tenth of the
 * difference. */
static int append_grown(const struct job *job, const struct baseline *baseline, const struct longer_row *row,
                        const struct grown_operations *grown, struct buffer *text)
{
    int leading = leading_part(grown), other = leading == PART_INSIDE ? PART_BEFORE : PART_INSIDE;
    if (buffer_append_text(text, ". Most of the increase: ") ||
        append_growth(job, baseline, row, grown, leading, text))
        return -1;
    if (grown->parts[other].sum_ns < row->lost_ns / row->steps / PART_EXPLAINED)
        return 0;
    return buffer_append_text(text, "; and ") || append_growth(job, baseline, row, grown, other, text);
}

static int append_last(const struct job *job, const struct grown_operations *grown, struct buffer *text)
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
    struct grown_operations grown;
    int32_t slowest = slowest_in(job, transfers, row);
    if (slowest >= 0)
        return append_slowest(job, transfers, slowest, text);
    if (grown_operations_find(&grown, job, baseline, longer, row))
        return -1;
    return grown.rank < 0 ? 0
                          : append_grown(job, baseline, row, &grown, text) || append_last(job, &grown, text);
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
