/*
 * Cuts the operations of a rank into steps, finds the sequence that most steps have, and matches the
 * operations of the other steps to it. Handles missing records. roles.c uses the result.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/*
 * The communicator of an operation for comparing sequences. A recreated communicator counts as the one that
 * it replaces, except where records are missing: there operations are identified by sequence numbers, which
 * start again with each communicator.
 */
static int32_t communicator_of_step(const struct job *job, const struct job_operation *operation)
{
    return job->missing_sequence ? operation->communicator : job_first_communicator(job, operation);
}

static uint64_t hash_operation(const struct job *job, const struct job_operation *operation)
{
    uint64_t hash = hash_mix((uint64_t)communicator_of_step(job, operation), operation->function);
    return hash_mix(hash, (uint64_t)operation->bytes);
}

static void cut(const struct job *job, const struct job_rank *rank, struct stretch *stretches)
{
    for (int32_t step = 0; step < job->step_count; step++)
        stretches[step] = (struct stretch){.first = -1};
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->step < 0 || operation->step >= job->step_count)
            continue;
        struct stretch *stretch = &stretches[operation->step];
        if (stretch->first < 0)
            stretch->first = (int32_t)i;
        stretch->count++;
        stretch->signature = hash_mix(stretch->signature, hash_operation(job, operation));
    }
}

/*
 * If operations are missing between two consecutive ones of a sequence, marks the first step and the step
 * after the last one affected; sum_gaps fills in the steps between.
 */
static void note_gap(const struct job *job, int32_t before, int32_t after, struct stretch *stretches)
{
    const struct job_operation *first = &job->operations[before], *next = &job->operations[after];
    if (first->step < 0 || next->step < first->step || next->step >= job->step_count ||
        job_breaks_in(job, first->step, next->step) ||
        job_sequence(job, next) <= job_sequence(job, first) + 1)
        return;
    stretches[first->step].has_gap++;
    if (next->step + 1 < job->step_count)
        stretches[next->step + 1].has_gap--;
}

/* Turns the marks into the number of gaps that affect each step. */
static void sum_gaps(const struct job *job, struct stretch *stretches)
{
    for (int32_t step = 1; step < job->step_count; step++)
        stretches[step].has_gap += stretches[step - 1].has_gap;
    /* No operation follows the last step to show whether it is complete. */
    if (job->missing_sequence && job->step_count)
        stretches[job->step_count - 1].has_gap++;
}

/* Marks the steps that lost records: they are no example of a complete step. */
static int mark_gaps(const struct job *job, const struct job_rank *rank, struct stretch *stretches)
{
    struct map last; /* series -> operation */
    int failed = 0;
    map_init(&last);
    for (size_t i = rank->first; !failed && job->missing_sequence && i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int added;
        int64_t *before = map_put(&last, step_numbers_series(job, operation), (int64_t)i, &added);
        failed = !before;
        if (failed || added)
            continue;
        note_gap(job, (int32_t)*before, (int32_t)i, stretches);
        *before = (int64_t)i;
    }
    map_release(&last);
    sum_gaps(job, stretches);
    return failed ? -1 : 0;
}

int stretches_cut(const struct job *job, const struct job_rank *rank, struct stretch *stretches)
{
    cut(job, rank, stretches);
    return mark_gaps(job, rank, stretches);
}

static int by_signature(const void *a, const void *b)
{
    const struct stretch *left = a, *right = b;
    if (left->signature != right->signature)
        return left->signature < right->signature ? -1 : 1;
    return (left->first > right->first) - (left->first < right->first);
}

static int is_any_whole(const struct stretch *stretches, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (stretches[i].count && !stretches[i].has_gap)
            return 1;
    return 0;
}

/*
 * Prefers the sequence of more steps, then the longer, then the earlier one. Signatures must not decide
 * because they depend on the order of reading.
 */
static int is_better(struct stretch stretch, int32_t votes, struct stretch than, int32_t than_votes)
{
    if (votes != than_votes)
        return votes > than_votes;
    return stretch.count != than.count ? stretch.count > than.count : stretch.first < than.first;
}

struct stretch stretches_canonical(const struct stretch *stretches, int32_t first_step, int32_t count,
                                   struct stretch *sorted)
{
    struct stretch best = {.first = -1}, earliest = {.first = -1};
    int32_t best_votes = 0, votes = 0, used = count - first_step;
    int whole_only = is_any_whole(stretches + first_step, used);
    memcpy(sorted, stretches + first_step, (size_t)used * sizeof *sorted);
    array_sort(sorted, (size_t)used, sizeof *sorted, by_signature);
    for (int32_t i = 0; i < used; i++) {
        if (!sorted[i].count || (whole_only && sorted[i].has_gap))
            continue;
        if (!votes || sorted[i].signature != earliest.signature) {
            earliest = sorted[i];
            votes = 0;
        }
        if (is_better(earliest, ++votes, best, best_votes)) {
            best = earliest;
            best_votes = votes;
        }
    }
    return best;
}

/* Matching of operations to the canonical sequence. */

/* A step with more than this many times the operations is not matched. */
enum { LONGEST = 4 };

enum match_criterion { MATCH_BY_SIZE, MATCH_BY_CALL, MATCH_BY_NUMBER };

/*
 * The canonical sequence, indexed. Owns all but `job`. Operations that cannot be distinguished share a key;
 * keys are numbered from 0.
 */
struct sequence {
    const struct job *job;
    struct stretch canonical;
    enum match_criterion by;
    const struct step_numbers *numbers; /* if by number; else NULL */
    int is_settled; /* the canonical one is not complete, but numbers show what each step has of it */
    struct map keys;
    int32_t *key_at; /* [position] */
    int32_t *first;  /* [key]: its first position */
    int32_t *next;   /* [position]: next position with the same key; -1: none */
    int32_t *cursor; /* scratch, [key] */
    int32_t *heard;  /* scratch: key of each operation of a step; -1: none */
};

static struct map_key key_of(const struct sequence *sequence, const struct job_operation *operation)
{
    if (sequence->by == MATCH_BY_NUMBER)
        return step_numbers_key(sequence->numbers, operation);
    struct map_key key = {
        {(uint64_t)communicator_of_step(sequence->job, operation) << 8 | operation->function}};
    const struct job_instance *instance = &sequence->job->instances[operation->instance];
    if (function_is_point_to_point(operation->function)) {
        key.part[1] = (uint64_t)instance->sender;
        key.part[2] = (uint64_t)instance->receiver;
    }
    if (sequence->by == MATCH_BY_SIZE)
        key.part[3] = (uint64_t)operation->bytes;
    return key;
}

/* Goes from the last position to the first, so that the positions of a key are linked in ascending order. */
static int chain_positions(struct sequence *sequence)
{
    int32_t found = 0;
    for (int32_t i = sequence->canonical.count; i-- > 0;) {
        const struct job_operation *operation =
            &sequence->job->operations[stretch_at(&sequence->canonical, i)];
        int added;
        int64_t *key = map_put(&sequence->keys, key_of(sequence, operation), found, &added);
        if (!key)
            return -1;
        sequence->next[i] = added ? -1 : sequence->first[*key];
        sequence->first[*key] = i;
        sequence->key_at[i] = (int32_t)*key;
        found += added;
    }
    return 0;
}

static void sequence_release(struct sequence *sequence)
{
    map_release(&sequence->keys);
    free(sequence->key_at);
    free(sequence->first);
    free(sequence->next);
    free(sequence->cursor);
    free(sequence->heard);
}

static int sequence_init(struct sequence *sequence, const struct job *job, struct stretch canonical,
                         enum match_criterion by, const struct step_numbers *numbers)
{
    size_t count = (size_t)canonical.count;
    *sequence = (struct sequence){.job = job,
                                  .canonical = canonical,
                                  .by = by,
                                  .numbers = numbers,
                                  .is_settled = numbers && canonical.has_gap && numbers->is_even,
                                  .key_at = array_new(count, sizeof *sequence->key_at),
                                  .first = array_new(count, sizeof *sequence->first),
                                  .next = array_new(count, sizeof *sequence->next),
                                  .cursor = array_new(count, sizeof *sequence->cursor),
                                  .heard = array_new(count * LONGEST, sizeof *sequence->heard)};
    map_init(&sequence->keys);
    if (!sequence->key_at || !sequence->first || !sequence->next || !sequence->cursor || !sequence->heard)
        return -1;
    return chain_positions(sequence);
}

static void hear(struct sequence *sequence, struct stretch stretch)
{
    for (int32_t i = 0; i < stretch.count; i++) {
        const int64_t *key =
            map_get(&sequence->keys, key_of(sequence, &sequence->job->operations[stretch.first + i]));
        sequence->heard[i] = key ? (int32_t)*key : -1;
    }
    memcpy(sequence->cursor, sequence->first, sequence->keys.count * sizeof *sequence->cursor);
}

/* The first position of a key not before `from`; -1: none. `from` must not decrease between calls. */
static int32_t next_position(struct sequence *sequence, int32_t key, int32_t from)
{
    int32_t *at = &sequence->cursor[key];
    while (*at >= 0 && *at < from)
        *at = sequence->next[*at];
    return *at;
}

/*
 * Finds the positions of the operations of a step, in ascending order; -1: none. First the common beginning
 * and the common end with the canonical sequence are matched, then each operation between them is given the
 * next position that it fits. Returns the number of matches.
 */
static int32_t match(struct sequence *sequence, struct stretch stretch, int32_t *positions)
{
    int32_t count = stretch.count, all = sequence->canonical.count, least = count < all ? count : all;
    int32_t head = 0, tail = 0;
    hear(sequence, stretch);
    while (head < least && sequence->heard[head] == sequence->key_at[head])
        head++;
    while (tail < least - head && sequence->heard[count - 1 - tail] == sequence->key_at[all - 1 - tail])
        tail++;
    int32_t matched = head + tail, from = head;
    for (int32_t i = 0; i < count; i++) {
        int middle = i >= head && i < count - tail;
        positions[i] = i < head ? i : all - (count - i);
        if (!middle)
            continue;
        int32_t at = sequence->heard[i] < 0 ? -1 : next_position(sequence, sequence->heard[i], from);
        positions[i] = at < all - tail ? at : -1;
        if (positions[i] < 0)
            continue;
        from = at + 1;
        matched++;
    }
    return matched;
}

/* By number, an operation has one position, whatever the order: a dump may contain operations of several
 * streams. */
static void match_numbers(struct sequence *sequence, struct stretch stretch, int32_t *positions)
{
    hear(sequence, stretch);
    for (int32_t i = 0; i < stretch.count; i++) {
        int32_t key = sequence->heard[i];
        positions[i] = key < 0 ? -1 : sequence->cursor[key];
        if (positions[i] >= 0)
            sequence->cursor[key] = sequence->next[positions[i]];
    }
}

/*
 * Matches by number where records are missing; else by size, and also by call alone if that gives more
 * matches, because batches differ in size and a step may contain additional operations. `list` has room for
 * two steps.
 */
static void match_step(struct sequence *sequence, struct sequence *by_call, struct stretch stretch,
                       int32_t *list, int32_t *positions)
{
    int32_t *others = list + (size_t)sequence->canonical.count * LONGEST;
    if (sequence->by == MATCH_BY_NUMBER) {
        match_numbers(sequence, stretch, positions + stretch.first);
        return;
    }
    int32_t matched = match(sequence, stretch, list);
    if (by_call && matched < stretch.count && matched < sequence->canonical.count &&
        match(by_call, stretch, others) > matched)
        list = others;
    memcpy(positions + stretch.first, list, (size_t)stretch.count * sizeof *list);
}

/*
 * Two steps that lost equally many records need not have lost the same ones. Where sequence numbers can tell,
 * the step is matched by number.
 */
static int is_canonical(struct stretch stretch, const struct sequence *sequence)
{
    const struct stretch *canonical = &sequence->canonical;
    if (sequence->is_settled)
        return stretch.first == canonical->first;
    return stretch.signature == canonical->signature && stretch.count == canonical->count;
}

/* Sets the positions of steps equal to the canonical one. Returns the number of other steps. */
static int32_t take_canonical(const struct job *job, const struct stretch *stretches,
                              const struct sequence *sequence, int32_t *positions)
{
    int32_t others = 0;
    for (int32_t step = 0; step < job->step_count; step++) {
        int is_one = is_canonical(stretches[step], sequence);
        others += !is_one;
        for (int32_t i = 0; is_one && i < sequence->canonical.count; i++)
            positions[stretches[step].first + i] = i;
    }
    return others;
}

int positions_match(const struct job *job, const struct stretch *stretches, struct stretch canonical,
                    const struct step_numbers *numbers, int32_t *positions)
{
    struct sequence sequence = {.canonical = canonical}, by_call = {0};
    if (!canonical.has_gap && !take_canonical(job, stretches, &sequence, positions))
        return 0;
    int32_t *list = array_new((size_t)canonical.count * LONGEST * 2, sizeof *list);
    int failed =
        sequence_init(&sequence, job, canonical, numbers ? MATCH_BY_NUMBER : MATCH_BY_SIZE, numbers) ||
        (!numbers && sequence_init(&by_call, job, canonical, MATCH_BY_CALL, NULL)) || !list;
    if (!failed && canonical.has_gap)
        take_canonical(job, stretches, &sequence, positions);
    for (int32_t step = 0; !failed && step < job->step_count; step++)
        if (!is_canonical(stretches[step], &sequence) &&
            stretches[step].count <= LONGEST * (int64_t)canonical.count)
            match_step(&sequence, numbers ? NULL : &by_call, stretches[step], list, positions);
    sequence_release(&sequence);
    sequence_release(&by_call);
    free(list);
    return failed ? -1 : 0;
}
