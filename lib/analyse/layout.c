#include "analyse/load.h"

#include "analyse/moment.h"
#include "base/array.h"

#include <stdlib.h>

/*
 * A rank's operations come from a file for each of its communicators, each in order of issue or nearly so:
 * merging those runs is all the sorting there is to do.
 */

static int64_t issue_of(const struct job *job, size_t i)
{
    const struct job_operation *operation = &job->operations[i];
    return operation->recorded.issued_ns != TIME_UNKNOWN ? operation->recorded.issued_ns
                                                         : operation->start_ns;
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
static int list_issues(const struct job *job, size_t *next, struct moment *moments)
{
    size_t longest = 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        next[i] = job->ranks[i].first;
        longest = job->ranks[i].count > longest ? job->ranks[i].count : longest;
    }
    for (size_t i = 0; i < job->operation_count; i++)
        moments[next[job->operations[i].rank]++] = (struct moment){issue_of(job, i), (int32_t)i};
    struct moment *scratch = array_new(longest, sizeof *scratch);
    for (size_t i = 0; scratch && i < job->rank_count; i++)
        moments_sort(moments + job->ranks[i].first, scratch, job->ranks[i].count);
    free(scratch);
    return scratch ? 0 : -1;
}

/* Moves each operation once, along the circles of who takes whose place. */
static void move(struct job *job, struct moment *moments)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        if (moments[i].operation == (int32_t)i)
            continue;
        struct job_operation first = job->operations[i];
        struct job_draft first_draft = job->drafts[i];
        size_t at = i;
        while (moments[at].operation != (int32_t)i) {
            size_t from = (size_t)moments[at].operation;
            job->operations[at] = job->operations[from];
            job->drafts[at] = job->drafts[from];
            moments[at].operation = (int32_t)at;
            at = from;
        }
        job->operations[at] = first;
        job->drafts[at] = first_draft;
        moments[at].operation = (int32_t)at;
    }
}

/* An operation of a group call and what orders it there. */
struct grouped {
    struct moment moment;
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
                               {left->moment.operation, right->moment.operation}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static void order_group(const struct job *job, struct moment *moments, size_t count, struct grouped *list)
{
    for (size_t i = 0; i < count; i++) {
        const struct job_operation *operation = &job->operations[moments[i].operation];
        const struct job_instance *instance = &job->instances[operation->instance];
        list[i] =
            (struct grouped){moments[i], operation->communicator, operation->function,
                             operation->function == FUNCTION_SEND ? instance->receiver : instance->sender};
    }
    array_sort(list, count, sizeof *list, by_peer);
    for (size_t i = 0; i < count; i++)
        moments[i] = list[i].moment;
}

/*
 * The calls of one group are seen in any order where times are coarse: by peer they come in the same order in
 * every step, and at every rank.
 */
static int order_groups(const struct job *job, struct moment *moments)
{
    struct grouped *list = array_new(job->operation_count, sizeof *list);
    for (size_t i = 0, next; list && i < job->operation_count; i = next) {
        next = i + 1;
        while (next < job->operation_count &&
               job_same_group(job, (size_t)moments[next - 1].operation, (size_t)moments[next].operation))
            next++;
        if (next > i + 2)
            order_group(job, moments + i, next - i, list);
    }
    free(list);
    return list ? 0 : -1;
}

static int note_places(const struct job *job, const struct moment *moments, int32_t **places)
{
    *places = array_new(job->operation_count, sizeof **places);
    for (size_t i = 0; *places && i < job->operation_count; i++)
        (*places)[moments[i].operation] = (int32_t)i;
    return *places ? 0 : -1;
}

int job_lay_out(struct job *job, int32_t **places)
{
    count_ranks(job);
    struct moment *moments = array_new(job->operation_count, sizeof *moments);
    size_t *next = array_new(job->rank_count, sizeof *next);
    int failed = !moments || !next || list_issues(job, next, moments) || order_groups(job, moments) ||
                 (places && note_places(job, moments, places));
    if (!failed)
        move(job, moments);
    free(moments);
    free(next);
    return failed ? -1 : 0;
}
