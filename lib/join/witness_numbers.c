#include "join/witness_numbers.h"

#include "base/array.h"
#include "model/event.h"
#include "schemas.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

static int is_collective(const struct told_call *call)
{
    return !function_is_point_to_point((enum function)call->function);
}

/* The number of the last collective; 0: there is none. */
static int64_t last_number(const struct told_calls *calls)
{
    int64_t last = 0;
    for (size_t i = 0; i < calls->count; i++)
        if (is_collective(&calls->items[i]) && calls->items[i].number > last)
            last = calls->items[i].number;
    return last;
}

static int by_file(const void *a, const void *b)
{
    const struct told_call *left = a, *right = b;
    if (left->block_id >> 32 != right->block_id >> 32)
        return left->block_id < right->block_id ? -1 : 1;
    return (left->ordinal > right->ordinal) - (left->ordinal < right->ordinal);
}

/* Numbers a log's collectives from 1 on, in its order, and leaves out the rest. */
static void number_calls(struct told_calls *calls)
{
    size_t kept = 0;
    for (size_t i = 0; i < calls->count; i++)
        if (is_collective(&calls->items[i]))
            calls->items[kept++] = calls->items[i];
    calls->count = kept;
    array_sort(calls->items, kept, sizeof *calls->items, by_file);
    for (size_t i = 0; i < kept; i++)
        calls->items[i].number = (int64_t)i + 1;
}

/* Whether all collectives of the one are in the log, which ends with the same one. */
static int are_same(const struct told_calls *one, const struct told_calls *log, size_t *calls)
{
    *calls = 0;
    if (last_number(one) != (int64_t)log->count)
        return 0;
    for (size_t i = 0; i < one->count; i++) {
        const struct told_call *call = &one->items[i];
        if (!is_collective(call))
            continue;
        if (call->number < 1)
            return 0;
        const struct told_call *logged = &log->items[call->number - 1];
        if (logged->function != call->function ||
            (logged->bytes >= 0 && call->bytes >= 0 && logged->bytes != call->bytes))
            return 0;
        ++*calls;
    }
    return *calls > 0;
}

/* Each member of the log is one of the other record's. -1: memory is out. */
static int match_members(struct hearing *hearing, struct seats *one, struct seats *log,
                         struct numbers_match *match)
{
    for (size_t k = 0; match->fits && k < log->count; k++) {
        size_t calls = 0, i = 0;
        number_calls(&log->calls[k]);
        if (!log->calls[k].count)
            continue;
        for (; i < one->count; i++) {
            int alike = one->is_taken[i] ? 0 : seats_alike(hearing, one->members[i], log->members[k]);
            if (alike < 0)
                return -1;
            if (alike && are_same(&one->calls[i], &log->calls[k], &calls))
                break;
        }
        match->fits = i < one->count;
        if (match->fits) {
            one->is_taken[i] = 1;
            match->calls += calls;
            if (witness_seats_add(&match->seats, hearing->work, one->members[i], log->members[k]))
                return -1;
        }
    }
    return 0;
}

/* Whether the log ends in the middle of making a communicator. -1: failed. */
static int is_starting(struct hearing *hearing, int32_t rank, struct error *error)
{
    const struct work *work = hearing->work;
    struct statement *row =
        store_prepare(hearing->logs->store, schema_join_witnesses_unfinished_starts, error);
    int more =
        row && !statement_bind_integer(row, 1, work->processes[work->ranks[rank].process].id, error) ? 1 : -1;
    if (more == 1)
        more = statement_step(row, error);
    int is_starting = more == 1 && statement_integer(row, 0) > 0;
    statement_free(row);
    return more < 0 ? -1 : is_starting;
}

int numbers_match_log(struct hearing *hearing, const struct witness_side *one,
                      const struct witness_side *other, struct numbers_match *match, struct error *error)
{
    struct seats here = {.count = 0}, there = {.count = 0};
    int starting = is_starting(hearing, other->rank, error);
    *match = (struct numbers_match){.fits = !starting};
    int failed =
        starting < 0 || seats_load(&here, hearing, one, error) || seats_load(&there, hearing, other, error);
    if (!failed && match_members(hearing, &here, &there, match))
        failed = error_no_memory(error);
    match->fits &= match->calls > 0;
    seats_release(&here);
    seats_release(&there);
    return failed ? -1 : 0;
}

/* Whether a group of a name was called so often. */
static int has_called(const struct work *work, const struct seats *seats, const char *name, int64_t enqueued)
{
    for (size_t i = 0; i < seats->count; i++) {
        const struct work_communicator *communicator =
            &work->communicators[work->members[seats->members[i]].communicator];
        if (communicator->name && name && strcmp(communicator->name, name) == 0 &&
            last_number(&seats->calls[i]) == enqueued)
            return 1;
    }
    return 0;
}

int numbers_match_status(struct hearing *hearing, const struct witness_side *one, int32_t other,
                         struct numbers_match *match, struct error *error)
{
    struct seats here = {.count = 0};
    *match = (struct numbers_match){.fits = 1};
    int failed = seats_load(&here, hearing, one, error);
    struct statement *row =
        failed ? NULL : store_prepare(hearing->logs->store, schema_join_witnesses_statuses, error);
    int more = row && !statement_bind_integer(row, 1, hearing->work->processes[other].id, error) ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1) {
        int64_t enqueued = statement_integer(row, 1);
        match->fits &= has_called(hearing->work, &here, statement_text(row, 0), enqueued);
        match->calls += enqueued > 0 ? (size_t)enqueued : 0;
    }
    statement_free(row);
    seats_release(&here);
    return more;
}
