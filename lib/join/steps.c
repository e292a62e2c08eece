#include "join/work.h"

#include "base/array.h"
#include "base/hash.h"
#include "join/cycle.h"

#include <limits.h>
#include <stdlib.h>

/*
 * Training steps: from the recurring cycle of tags, rank by rank; without tags from the period of the
 * operation sequence of one rank, carried to the others by the operations of the communicator that all ranks
 * share. What comes before the first cycle belongs to step 0.
 */

struct moments {
    uint64_t *symbols;
    int64_t *at_ns;
    size_t count;
    size_t capacity;
    size_t time_capacity;
};

static void moments_release(struct moments *moments)
{
    free(moments->symbols);
    free(moments->at_ns);
}

static int moments_add(struct moments *moments, uint64_t symbol, int64_t at_ns)
{
    if (array_reserve((void **)&moments->symbols, &moments->capacity, moments->count + 1,
                      sizeof *moments->symbols) ||
        array_reserve((void **)&moments->at_ns, &moments->time_capacity, moments->count + 1,
                      sizeof *moments->at_ns))
        return -1;
    moments->symbols[moments->count] = symbol;
    moments->at_ns[moments->count++] = at_ns;
    return 0;
}

static struct work_operation *nth_operation(const struct work *work, const struct work_rank *rank, size_t n)
{
    return &work->operations[work->order[rank->first_operation + n]];
}

/* The member of the rank on which most tags were set; -1 where they were set for the whole process, or
 * nowhere. */
static int32_t most_marked(const struct work *work, const struct work_rank *rank, size_t *count)
{
    int32_t best = -1;
    *count = 0;
    if (rank->process < 0)
        return -1;
    size_t end = work->first_mark[rank->process + 1];
    for (size_t i = work->first_mark[rank->process]; i < end; i++)
        *count += work->marks[work->mark_order[i]].member < 0;
    for (size_t member = 0; member < work->member_count; member++) {
        size_t marks = 0;
        if (&work->ranks[work->members[member].job_rank] != rank)
            continue;
        for (size_t i = work->first_mark[rank->process]; i < end; i++)
            marks += work->marks[work->mark_order[i]].member == (int32_t)member;
        if (marks > *count) {
            *count = marks;
            best = (int32_t)member;
        }
    }
    return best;
}

/* The tags as they were set. The end of a range is a moment like its beginning. */
static int tags_as_set(const struct work *work, const struct work_rank *rank, struct moments *moments)
{
    size_t count;
    int32_t member = most_marked(work, rank, &count);
    for (size_t i = count ? work->first_mark[rank->process] : 0;
         count && i < work->first_mark[rank->process + 1]; i++) {
        const struct work_mark *mark = &work->marks[work->mark_order[i]];
        if (mark->member == member && moments_add(moments, (uint64_t)mark->text + 1, mark->at_ns))
            return -1;
    }
    return 0;
}

/* Where the tag changes from one operation to the next: the cycle as the operations show it. */
static int tags_of_operations(const struct work *work, const struct work_rank *rank, struct moments *moments)
{
    int32_t last = -1;
    for (size_t i = 0; i < rank->operation_count; i++) {
        const struct work_operation *operation = nth_operation(work, rank, i);
        if (operation->tag < 0 || operation->tag == last)
            continue;
        last = operation->tag;
        if (moments_add(moments, (uint64_t)last, operation->issued_ns))
            return -1;
    }
    return 0;
}

/*
 * Where traces lost operations the cycle has holes. Then a new one begins whenever a tag comes that does not
 * come later than the last in order of first sight.
 */
static size_t wrapping_starts(const struct moments *moments, size_t *starts)
{
    size_t found = 0;
    uint64_t place[64];
    size_t places = 0, last = 0;
    for (size_t i = 0; i < moments->count; i++) {
        size_t at = 0;
        while (at < places && place[at] != moments->symbols[i])
            at++;
        if (at == places && places < sizeof place / sizeof *place)
            place[places++] = moments->symbols[i];
        if (i == 0 || at <= last)
            starts[found++] = i;
        last = at;
    }
    return found;
}

/* Times at which this rank's steps begin; *count 0 when its tags do not recur. Caller frees. */
static int starts_by_tags(const struct moments *moments, int64_t **times, size_t *count)
{
    *count = 0;
    struct cycle cycle;
    size_t *starts = array_new(moments->count, sizeof *starts);
    *times = array_new(moments->count, sizeof **times);
    if (!starts || !*times || cycle_find(moments->symbols, moments->count, &cycle)) {
        free(starts);
        return -1;
    }
    if (cycle.extent * 5 >= moments->count * 4)
        *count = cycle_starts(&cycle, moments->count, starts);
    else if (cycle.extent || moments->count >= 4)
        *count = wrapping_starts(moments, starts);
    for (size_t i = 0; i < *count; i++)
        (*times)[i] = moments->at_ns[starts[i]];
    free(starts);
    return 0;
}

static void apply_times(struct work *work, const struct work_rank *rank, const int64_t *times, size_t count)
{
    size_t next = 0;
    for (size_t i = 0; i < rank->operation_count; i++) {
        struct work_operation *operation = nth_operation(work, rank, i);
        while (next < count && times[next] <= operation->issued_ns)
            next++;
        operation->step = next ? (int32_t)next - 1 : 0;
    }
}

/* Steps of one rank from its tags. *found tells whether there were any. */
static int steps_by_tags(struct work *work, struct work_rank *rank, int *found)
{
    struct moments moments = {0};
    int64_t *times = NULL;
    size_t count = 0;
    int failed = tags_as_set(work, rank, &moments) ||
                 (!moments.count && tags_of_operations(work, rank, &moments)) ||
                 (moments.count >= 2 && starts_by_tags(&moments, &times, &count));
    *found = count >= 2;
    if (!failed && *found)
        apply_times(work, rank, times, count);
    free(times);
    moments_release(&moments);
    return failed ? -1 : 0;
}

static uint64_t symbol_of(const struct work *work, const struct work_operation *operation)
{
    uint64_t symbol = hash_mix((uint64_t)work->members[operation->member].communicator, operation->function);
    return hash_mix(symbol, hash_mix((uint64_t)operation->bytes, (uint64_t)operation->peer));
}

/* A last operation of a step: what other ranks recognise a step's end by. */
struct step_end {
    int32_t communicator;
    uint8_t function;
    int64_t sequence;
};

/* The rank of the run with the most operations. */
static struct work_rank *busiest_rank(struct work *work, int32_t run)
{
    struct work_rank *best = NULL;
    for (size_t i = 0; i < work->rank_count; i++)
        if (work->ranks[i].run == run && (!best || work->ranks[i].operation_count > best->operation_count))
            best = &work->ranks[i];
    return best;
}

/* In each cycle but the last of the reference rank, its last collective on the communicator that all share.
 */
static size_t ends_of_cycles(const struct work *work, const struct work_rank *rank, const size_t *starts,
                             size_t start_count, struct step_end *ends)
{
    int32_t world = work->runs[rank->run].world;
    size_t found = 0;
    for (size_t i = 1; i < start_count; i++) {
        for (size_t n = starts[i]; n-- > starts[i - 1];) {
            const struct work_operation *operation = nth_operation(work, rank, n);
            if (work->members[operation->member].communicator != world || operation->sequence < 0)
                continue;
            ends[found++] = (struct step_end){world, operation->function, operation->sequence};
            break;
        }
    }
    return found;
}

static void apply_ends(struct work *work, const struct work_rank *rank, const struct step_end *ends,
                       size_t count)
{
    int32_t step = 0;
    for (size_t i = 0; i < rank->operation_count; i++) {
        struct work_operation *operation = nth_operation(work, rank, i);
        int on_world = (size_t)step < count &&
                       work->members[operation->member].communicator == ends[step].communicator &&
                       operation->function == ends[step].function;
        /* An operation beyond the end shows that the end itself was lost. */
        if (on_world && operation->sequence > ends[step].sequence)
            step++;
        operation->step = step;
        if (on_world && operation->sequence == ends[step].sequence)
            step++;
    }
}

static void apply_starts(struct work *work, const struct work_rank *rank, const size_t *starts, size_t count)
{
    size_t next = 0;
    for (size_t i = 0; i < rank->operation_count; i++) {
        while (next < count && starts[next] <= i)
            next++;
        nth_operation(work, rank, i)->step = next ? (int32_t)next - 1 : 0;
    }
}

/* Cycles that are only parts of a step go together by the time between them. */
static int merge_cycles(const struct work *work, const struct work_rank *rank, size_t *starts, size_t *count)
{
    int64_t *gaps = array_new(*count * 2, sizeof *gaps);
    if (!gaps)
        return -1;
    for (size_t i = 0; i < *count; i++)
        gaps[i] = starts[i] ? nth_operation(work, rank, starts[i])->issued_ns -
                                  nth_operation(work, rank, starts[i] - 1)->issued_ns
                            : 0;
    *count = cycle_merge(starts, gaps, *count, gaps + *count);
    free(gaps);
    return 0;
}

/* The cycle of one rank's operations: *count 0 unless it covers most of them. Caller frees *starts. */
static int cycle_of_operations(const struct work *work, const struct work_rank *rank, size_t **starts,
                               size_t *count)
{
    *count = 0;
    uint64_t *symbols = array_new(rank->operation_count, sizeof *symbols);
    *starts = array_new(rank->operation_count, sizeof **starts);
    struct cycle cycle;
    if (!symbols || !*starts) {
        free(symbols);
        return -1;
    }
    for (size_t i = 0; i < rank->operation_count; i++)
        symbols[i] = symbol_of(work, nth_operation(work, rank, i));
    int failed = cycle_find(symbols, rank->operation_count, &cycle);
    free(symbols);
    if (!failed && cycle.extent * 2 >= rank->operation_count && cycle.extent >= 3 * cycle.period)
        *count = cycle_starts(&cycle, rank->operation_count, *starts);
    return failed || (*count && merge_cycles(work, rank, *starts, count)) ? -1 : 0;
}

static int steps_alone(struct work *work, struct work_rank *rank)
{
    size_t *starts = NULL, count = 0;
    int failed = cycle_of_operations(work, rank, &starts, &count);
    if (!failed && count)
        apply_starts(work, rank, starts, count);
    free(starts);
    return failed;
}

/* Steps of a run without tags. *found tells whether its operations have a period. */
static int steps_by_period(struct work *work, int32_t run, int *found)
{
    *found = 0;
    struct work_rank *reference = busiest_rank(work, run);
    if (!reference || !reference->operation_count)
        return 0;
    size_t *starts = NULL, count = 0;
    struct step_end *ends = array_new(reference->operation_count, sizeof *ends);
    int failed = !ends || cycle_of_operations(work, reference, &starts, &count);
    size_t end_count = 0;
    if (!failed && count > 1 && work->runs[run].world >= 0)
        end_count = ends_of_cycles(work, reference, starts, count, ends);
    *found = !failed && count > 1;
    for (size_t i = 0; !failed && *found && i < work->rank_count; i++) {
        if (work->ranks[i].run != run)
            continue;
        if (end_count + 1 == count)
            apply_ends(work, &work->ranks[i], ends, end_count);
        else
            failed = steps_alone(work, &work->ranks[i]);
    }
    free(starts);
    free(ends);
    return failed ? -1 : 0;
}

static void count_steps(struct work *work)
{
    for (size_t i = 0; i < work->operation_count; i++) {
        const struct work_operation *operation = &work->operations[i];
        struct work_run *run = &work->runs[work->ranks[work->members[operation->member].job_rank].run];
        if (operation->step >= run->step_count)
            run->step_count = operation->step + 1;
    }
}

int work_assign_steps(struct work *work, struct error *error)
{
    for (size_t i = 0; i < work->rank_count; i++) {
        int found;
        if (steps_by_tags(work, &work->ranks[i], &found))
            return error_no_memory(error);
        if (found)
            work->runs[work->ranks[i].run].step_source = "tags";
    }
    for (size_t i = 0; i < work->run_count; i++) {
        int found;
        if (work->runs[i].step_source[0] == 't')
            continue;
        if (steps_by_period(work, (int32_t)i, &found))
            return error_no_memory(error);
        if (found)
            work->runs[i].step_source = "period";
    }
    count_steps(work);
    return 0;
}
