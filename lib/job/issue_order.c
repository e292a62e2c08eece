/*
 * Sorts the operations of a run by rank and order of issue after they are read, and finds communicators that
 * replaced earlier ones.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>

/*
 * The operations of a rank come from one file per communicator, each of which is nearly in the order of
 * issue. So sorting is a merge of these runs.
 */

static int64_t issue_of(const struct job *job, size_t i)
{
    int64_t issued_ns = job->drafts.issued_ns[i];
    if (issued_ns == TIME_UNKNOWN)
        issued_ns = job->operations[i].start_ns;
    return issued_ns == TIME_UNKNOWN && job->drafts.stamps_ns ? job->drafts.stamps_ns[i] : issued_ns;
}

/* Sets the index of the first operation and the number of operations of each rank. */
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

/* Distributes operations to their ranks, in the order of reading. Returns -1 when out of memory. */
static int distribute_to_ranks(const struct job *job, int32_t *order)
{
    size_t *next = array_new(job->rank_count, sizeof *next);
    for (size_t i = 0; next && i < job->rank_count; i++)
        next[i] = job->ranks[i].first;
    for (size_t i = 0; next && i < job->operation_count; i++)
        order[next[job->operations[i].rank]++] = (int32_t)i;
    free(next);
    return next ? 0 : -1;
}

/* The data of one operation from several arrays. */
struct laid {
    struct job_operation operation;
    int64_t issued_ns;
    int64_t initial_sync_ns;
    int64_t gpu_busy_ns;
    int64_t gpu_overlap_ns;
    int64_t duration_ns;
    int64_t stamp_ns;
    int64_t number;
    int64_t noticed_ns;
    struct job_notice notice;
    int32_t stream;
    int32_t source;
    struct job_call call;
};

static struct laid take(const struct job *job, size_t at)
{
    return (struct laid){job->operations[at],
                         job->drafts.issued_ns[at],
                         job->initial_sync_ns ? job->initial_sync_ns[at] : 0,
                         job->gpu_busy_ns ? job->gpu_busy_ns[at] : 0,
                         job->gpu_overlap_ns ? job->gpu_overlap_ns[at] : 0,
                         job->drafts.durations_ns ? job->drafts.durations_ns[at] : 0,
                         job->drafts.stamps_ns ? job->drafts.stamps_ns[at] : 0,
                         job->drafts.numbers ? job->drafts.numbers[at] : 0,
                         job->drafts.noticed_ns ? job->drafts.noticed_ns[at] : 0,
                         job->drafts.notices ? job->drafts.notices[at] : (struct job_notice){0, 0},
                         job->drafts.streams ? job->drafts.streams[at] : 0,
                         job->sources ? job->sources[at] : -1,
                         job->calls ? job->calls[at] : (struct job_call){0}};
}

static void put(struct job *job, size_t at, const struct laid *laid)
{
    job->operations[at] = laid->operation;
    job->drafts.issued_ns[at] = laid->issued_ns;
    if (job->initial_sync_ns)
        job->initial_sync_ns[at] = laid->initial_sync_ns;
    if (job->gpu_busy_ns)
        job->gpu_busy_ns[at] = laid->gpu_busy_ns;
    if (job->gpu_overlap_ns)
        job->gpu_overlap_ns[at] = laid->gpu_overlap_ns;
    if (job->drafts.durations_ns)
        job->drafts.durations_ns[at] = laid->duration_ns;
    if (job->drafts.stamps_ns)
        job->drafts.stamps_ns[at] = laid->stamp_ns;
    if (job->drafts.numbers)
        job->drafts.numbers[at] = laid->number;
    if (job->drafts.noticed_ns)
        job->drafts.noticed_ns[at] = laid->noticed_ns;
    if (job->drafts.notices)
        job->drafts.notices[at] = laid->notice;
    if (job->drafts.streams)
        job->drafts.streams[at] = laid->stream;
    if (job->sources)
        job->sources[at] = laid->source;
    if (job->calls)
        job->calls[at] = laid->call;
}

/* Moves each operation once, following the cycles of the permutation. `moved` has one bit per operation. */
static void move(struct job *job, const int32_t *order, uint8_t *moved)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        if (order[i] == (int32_t)i || moved[i / 8] >> i % 8 & 1)
            continue;
        struct laid first = take(job, i);
        size_t at = i;
        for (size_t from; (from = (size_t)order[at]) != i; at = from) {
            struct laid next = take(job, from);
            put(job, at, &next);
            moved[at / 8] |= (uint8_t)(1u << at % 8);
        }
        put(job, at, &first);
        moved[at / 8] |= (uint8_t)(1u << at % 8);
    }
}

/* An operation of a group call with its sort keys. */
struct grouped {
    struct sort_entry place;
    int64_t number; /* of a send or receive without times */
    int32_t communicator;
    int32_t function;
    int32_t peer;
};

static struct grouped grouped_of(const struct job *job, struct sort_entry issued)
{
    const struct job_operation *operation = &job->operations[issued.index];
    const struct job_instance *instance = &job->instances[operation->instance];
    return (struct grouped){issued, job->drafts.numbers ? job->drafts.numbers[issued.index] : COUNT_UNKNOWN,
                            operation->communicator, (int32_t)operation->function,
                            operation->function == FUNCTION_SEND ? instance->receiver : instance->sender};
}

static int by_peer(const void *a, const void *b)
{
    const struct grouped *left = a, *right = b;
    const int32_t keys[][2] = {{left->communicator, right->communicator},
                               {left->function, right->function},
                               {left->peer, right->peer},
                               {left->place.index, right->place.index}};
    return compare_in_turn(keys, sizeof keys / sizeof *keys);
}

static void order_group(const struct job *job, struct sort_entry *issued, size_t count, struct grouped *list)
{
    for (size_t i = 0; i < count; i++)
        list[i] = grouped_of(job, issued[i]);
    array_sort(list, count, sizeof *list, by_peer);
    for (size_t i = 0; i < count; i++)
        issued[i] = list[i].place;
}

/*
 * The calls of one group may be recorded in any order, if times are coarse or if a recorder writes what
 * completed first, as Inspector does. Sorted by function and peer they have the same order in every step and
 * on every rank.
 */
static void order_groups(const struct job *job, struct sort_entry *issued, size_t count, struct grouped *list)
{
    for (size_t i = 0, next; i < count; i = next) {
        next = i + 1;
        while (next < count &&
               job_same_group(job, (size_t)issued[next - 1].index, (size_t)issued[next].index))
            next++;
        if (next > i + 1)
            order_group(job, issued + i, next - i, list);
    }
}

static int by_number(const void *a, const void *b)
{
    const struct grouped *left = a, *right = b;
    if (left->communicator != right->communicator)
        return left->communicator < right->communicator ? -1 : 1;
    return left->number == right->number ? by_peer(a, b) : compare_integers(left->number, right->number);
}

static size_t list_numbered(const struct job *job, const struct sort_entry *issued, size_t count,
                            struct grouped *list)
{
    size_t listed = 0;
    for (size_t i = 0; i < count; i++)
        if (job->drafts.numbers[issued[i].index] != COUNT_UNKNOWN) {
            list[listed] = grouped_of(job, issued[i]);
            list[listed++].place.key = (int64_t)i;
        }
    array_sort(list, listed, sizeof *list, by_number);
    return listed;
}

/*
 * Sends and receives without times were called before those of their communicator with greater numbers, and
 * at the same time as those with the same number.
 */
static void call_before_later(const struct job *job, struct sort_entry *issued, size_t count,
                              struct grouped *list)
{
    size_t listed = list_numbered(job, issued, count, list);
    for (size_t i = listed; i-- > 1;) {
        const struct sort_entry *later = &issued[list[i].place.key];
        struct sort_entry *entry = &issued[list[i - 1].place.key];
        if (list[i - 1].communicator == list[i].communicator && later->key < entry->key)
            entry->key = later->key;
    }
    for (size_t i = 1; i < listed; i++)
        if (list[i - 1].communicator == list[i].communicator && list[i - 1].number == list[i].number)
            issued[list[i].place.key].key = issued[list[i - 1].place.key].key;
}

/* If they were dumped at one time, their numbers give their order among themselves. */
static void order_numbered(const struct job *job, struct sort_entry *issued, size_t count,
                           struct grouped *list)
{
    for (size_t i = 0, next; i < count; i = next) {
        size_t taken = 0;
        for (next = i + 1; next < count && issued[next].key == issued[i].key;)
            next++;
        size_t listed = next > i + 1 ? list_numbered(job, issued + i, next - i, list) : 0;
        for (size_t at = i; at < next && listed; at++)
            if (job->drafts.numbers[issued[at].index] != COUNT_UNKNOWN)
                issued[at].index = list[taken++].place.index;
    }
}

/* Buffers for sorting the operations of a rank. */
struct sorting {
    struct sort_entry *issued; /* owned, like the others */
    struct sort_entry *scratch;
    struct grouped *list;
};

static int sorting_init(struct sorting *sorting, const struct job *job)
{
    size_t longest = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        longest = job->ranks[i].count > longest ? job->ranks[i].count : longest;
    *sorting = (struct sorting){.issued = array_new(longest, sizeof *sorting->issued),
                                .scratch = array_new(longest, sizeof *sorting->scratch),
                                .list = array_new(longest, sizeof *sorting->list)};
    return sorting->issued && sorting->scratch && sorting->list ? 0 : -1;
}

static void sorting_release(struct sorting *sorting)
{
    free(sorting->issued);
    free(sorting->scratch);
    free(sorting->list);
}

static void sort_rank(const struct job *job, struct sorting *sorting, int32_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sorting->issued[i] = (struct sort_entry){issue_of(job, (size_t)order[i]), order[i]};
    if (job->drafts.numbers)
        call_before_later(job, sorting->issued, count, sorting->list);
    sort_entries(sorting->issued, sorting->scratch, count);
    if (job->drafts.numbers)
        order_numbered(job, sorting->issued, count, sorting->list);
    order_groups(job, sorting->issued, count, sorting->list);
    for (size_t i = 0; i < count; i++)
        order[i] = sorting->issued[i].index;
}

static int find_order(const struct job *job, int32_t *order)
{
    struct sorting sorting;
    int failed = sorting_init(&sorting, job) || distribute_to_ranks(job, order);
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        sort_rank(job, &sorting, order + job->ranks[i].first, job->ranks[i].count);
    sorting_release(&sorting);
    return failed || job_order_programs(job, order) ? -1 : 0;
}

int job_sort_operations(struct job *job)
{
    count_ranks(job);
    uint8_t *moved = array_new(job->operation_count / 8 + 1, sizeof *moved);
    job->read_order = array_new(job->operation_count, sizeof *job->read_order);
    int failed = !moved || !job->read_order || find_order(job, job->read_order);
    if (!failed)
        move(job, job->read_order, moved);
    free(moved);
    return failed ? -1 : 0;
}

/*
 * A hash of the members. With an unknown communicator hash, members cannot be compared, and the communicator
 * replaces none.
 */
static uint64_t members_of(const struct job_communicator *communicator, int32_t number)
{
    if (!communicator->hash)
        return hash_mix((uint64_t)number, 0);
    uint64_t members = hash_mix(communicator->member_list_count, (uint64_t)communicator->size_is_known);
    if (communicator->size_is_known)
        members = hash_mix(members, (uint64_t)communicator->size);
    for (size_t i = 0; i < communicator->member_list_count; i++)
        members = hash_mix(hash_mix(members, (uint64_t)communicator->member_list[i].number),
                           (uint64_t)communicator->member_list[i].rank);
    return members;
}

/*
 * Notes where the first rank of each communicator uses it first and last. A communicator that this rank never
 * uses has no life.
 */
static void note_uses(const struct job *job, struct communicator_life *lives)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        const struct job_communicator *communicator = &job->communicators[operation->communicator];
        struct communicator_life *life = &lives[operation->communicator];
        if (!communicator->member_list_count || communicator->member_list[0].rank != operation->rank)
            continue;
        if ((int64_t)i < life->first_used)
            life->first_used = (int64_t)i;
        life->last_used = (int64_t)i;
    }
}

/*
 * For each rank, the last operation on a communicator of all ranks; -1: none. Owned by the caller; NULL when
 * out of memory.
 */
static int64_t *last_with_all(const struct job *job)
{
    int64_t *last = array_new(job->rank_count, sizeof *last);
    for (size_t i = 0; last && i < job->rank_count; i++)
        last[i] = -1;
    for (size_t i = 0; last && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (job->communicators[operation->communicator].size >= (int64_t)job->rank_count)
            last[operation->rank] = (int64_t)i;
    }
    return last;
}

/*
 * A communicator that divides the job has at most half of its ranks. A larger one that is first used after
 * the last use of those of all ranks consists of the ranks that are left.
 */
static int find_rest(struct job *job, const struct communicator_life *lives)
{
    int64_t *last = last_with_all(job);
    if (!last)
        return -1;
    for (size_t i = 0; i < job->communicator_count; i++) {
        struct job_communicator *communicator = &job->communicators[i];
        int is_used = communicator->member_list_count && lives[i].first_used != INT64_MAX;
        int64_t before = is_used ? last[communicator->member_list[0].rank] : -1;
        communicator->follows_whole_communicator = before >= 0 && lives[i].first_used > before &&
                                                   communicator->size < (int64_t)job->rank_count &&
                                                   communicator->size > (int64_t)job->rank_count / 2;
    }
    free(last);
    return 0;
}

int job_find_successions(struct job *job)
{
    struct communicator_life *lives = array_new(job->communicator_count, sizeof *lives);
    int32_t *first_of = array_new(job->communicator_count, sizeof *first_of);
    int failed = !lives || !first_of;
    for (size_t i = 0; !failed && i < job->communicator_count; i++)
        lives[i] =
            (struct communicator_life){members_of(&job->communicators[i], (int32_t)i), INT64_MAX, INT64_MAX};
    if (!failed)
        note_uses(job, lives);
    failed = failed || succession_find(lives, job->communicator_count, first_of) || find_rest(job, lives);
    for (size_t i = 0; !failed && i < job->communicator_count; i++)
        job->communicators[i].succeeds = first_of[i] == (int32_t)i ? 0 : first_of[i] + 1;
    free(lives);
    free(first_of);
    return failed ? -1 : 0;
}
