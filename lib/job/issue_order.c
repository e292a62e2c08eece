#include "job/issue_order.h"

#include "base/array.h"
#include "base/keyed.h"
#include "job/groups.h"

#include <stdlib.h>

/*
 * A rank's operations come from a file for each of its communicators, each in order of issue or nearly so:
 * merging those runs is all the sorting there is to do.
 */

static int64_t issue_of(const struct job *job, size_t i)
{
    int64_t issued_ns = job->drafts[i].issued_ns;
    return issued_ns != TIME_UNKNOWN ? issued_ns : job->operations[i].start_ns;
}

/* Fills in where each rank's operations begin and how many they are. */
static void count_ranks(struct job *job)
{
    size_t first = 0;
    for (size_t i = 0; i < job->operation_count; i++)
        job->ranks[job->operations[i].rank].count++;
    for (size_t i = 0; i < job->rank_count; i++) {
        job->ranks[i].first = first;
        first += job->ranks[i].count;
    }
}

/* Operations by rank in order of issue; `next` is scratch, an index a rank. */
static int list_issues(const struct job *job, size_t *next, struct keyed *issued)
{
    size_t longest = 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        next[i] = job->ranks[i].first;
        longest = job->ranks[i].count > longest ? job->ranks[i].count : longest;
    }
    for (size_t i = 0; i < job->operation_count; i++)
        issued[next[job->operations[i].rank]++] = (struct keyed){issue_of(job, i), (int32_t)i};
    struct keyed *scratch = array_new(longest, sizeof *scratch);
    for (size_t i = 0; scratch && i < job->rank_count; i++)
        keyed_sort(issued + job->ranks[i].first, scratch, job->ranks[i].count);
    free(scratch);
    return scratch ? 0 : -1;
}

/* What there is of an operation, in several arrays. */
struct laid {
    struct job_operation operation;
    struct job_draft draft;
    int64_t initial_sync_ns;
    int64_t gpu_busy_ns;
    int32_t source;
    struct job_call call;
};

static struct laid take(const struct job *job, size_t at)
{
    return (struct laid){job->operations[at],
                         job->drafts[at],
                         job->initial_sync_ns ? job->initial_sync_ns[at] : 0,
                         job->gpu_busy_ns ? job->gpu_busy_ns[at] : 0,
                         job->sources ? job->sources[at] : -1,
                         job->calls ? job->calls[at] : (struct job_call){0}};
}

static void put(struct job *job, size_t at, const struct laid *laid)
{
    job->operations[at] = laid->operation;
    job->drafts[at] = laid->draft;
    if (job->initial_sync_ns)
        job->initial_sync_ns[at] = laid->initial_sync_ns;
    if (job->gpu_busy_ns)
        job->gpu_busy_ns[at] = laid->gpu_busy_ns;
    if (job->sources)
        job->sources[at] = laid->source;
    if (job->calls)
        job->calls[at] = laid->call;
}

/* Moves each operation once, along the circles of who takes whose place. */
static void move(struct job *job, struct keyed *issued)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        if (issued[i].index == (int32_t)i)
            continue;
        struct laid first = take(job, i);
        size_t at = i;
        while (issued[at].index != (int32_t)i) {
            size_t from = (size_t)issued[at].index;
            struct laid moved = take(job, from);
            put(job, at, &moved);
            issued[at].index = (int32_t)at;
            at = from;
        }
        put(job, at, &first);
        issued[at].index = (int32_t)at;
    }
}

/* An operation of a group call and what orders it there. */
struct grouped {
    struct keyed place;
    int32_t communicator;
    int32_t function;
    int32_t peer;
};

static int by_peer(const void *a, const void *b)
{
    const struct grouped *left = a, *right = b;
    const int32_t keys[][2] = {{left->communicator, right->communicator},
                               {left->function, right->function},
                               {left->peer, right->peer},
                               {left->place.index, right->place.index}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static void order_group(const struct job *job, struct keyed *issued, size_t count, struct grouped *list)
{
    for (size_t i = 0; i < count; i++) {
        const struct job_operation *operation = &job->operations[issued[i].index];
        const struct job_instance *instance = &job->instances[operation->instance];
        list[i] =
            (struct grouped){issued[i], operation->communicator, operation->function,
                             operation->function == FUNCTION_SEND ? instance->receiver : instance->sender};
    }
    array_sort(list, count, sizeof *list, by_peer);
    for (size_t i = 0; i < count; i++)
        issued[i] = list[i].place;
}

/*
 * The calls of one group are seen in any order where times are coarse: by peer they come in the same order in
 * every step, and at every rank.
 */
static int order_groups(const struct job *job, struct keyed *issued)
{
    struct grouped *list = array_new(job->operation_count, sizeof *list);
    for (size_t i = 0, next; list && i < job->operation_count; i = next) {
        next = i + 1;
        while (next < job->operation_count &&
               job_same_group(job, (size_t)issued[next - 1].index, (size_t)issued[next].index))
            next++;
        if (next > i + 2)
            order_group(job, issued + i, next - i, list);
    }
    free(list);
    return list ? 0 : -1;
}

static int note_places(const struct job *job, const struct keyed *issued, int32_t **places)
{
    *places = array_new(job->operation_count, sizeof **places);
    for (size_t i = 0; *places && i < job->operation_count; i++)
        (*places)[issued[i].index] = (int32_t)i;
    return *places ? 0 : -1;
}

int job_lay_out(struct job *job, int32_t **places)
{
    count_ranks(job);
    struct keyed *issued = array_new(job->operation_count, sizeof *issued);
    size_t *next = array_new(job->rank_count, sizeof *next);
    int failed = !issued || !next || list_issues(job, next, issued) || order_groups(job, issued) ||
                 (places && note_places(job, issued, places));
    if (!failed)
        move(job, issued);
    free(issued);
    free(next);
    return failed ? -1 : 0;
}
