/*
 * How far each rank came with each call: from Flight Recorder dumps (call_states), and from NCCL's log and
 * RAS, which record only that calls were made (open_calls).
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>

static int is_collective(const struct job_operation *operation)
{
    return operation->kind == OPERATION_COLLECTIVE;
}

int call_is_cut(const struct job *job, int32_t rank)
{
    return job->common_cut != CUT_NONE || job->ranks[rank].cut != CUT_NONE;
}

/* A process that is only known from a line of a log, or whose dump failed, has no record of its calls. */
int call_is_recorded(const struct job *job, int32_t rank)
{
    const struct job_rank *of = &job->ranks[rank];
    return of->process_id >= 0 && (of->count > 0 || of->reports_progress);
}

static struct map_key wanted_key(const struct job *job, int32_t at)
{
    return (struct map_key){{(uint64_t)job->operations[at].communicator, (uint64_t)job->calls[at].number}};
}

static struct map_key call_key(int32_t rank, int32_t communicator, int64_t number)
{
    return (struct map_key){{(uint64_t)rank, (uint64_t)communicator, (uint64_t)number}};
}

static struct map_key reach_key(int32_t rank, int32_t communicator)
{
    return (struct map_key){{(uint64_t)rank, (uint64_t)communicator}};
}

static struct map_key pair_key(int32_t rank, int32_t communicator, uint8_t function, int64_t peer, int64_t n)
{
    return (struct map_key){
        {(uint64_t)rank, (uint64_t)communicator << 8 | function, (uint64_t)peer, (uint64_t)n}};
}

static struct call_reach *reach_at(struct call_states *states, int32_t rank, int32_t communicator)
{
    int added;
    int64_t *at =
        map_put(&states->reach_of, reach_key(rank, communicator), (int64_t)states->reach_count, &added);
    if (!at)
        return NULL;
    if (!added)
        return &states->reach[*at];
    if (array_reserve((void **)&states->reach, &states->reach_capacity, states->reach_count + 1,
                      sizeof *states->reach))
        return NULL;
    struct call_reach *reach = &states->reach[states->reach_count++];
    *reach = (struct call_reach){.rank = rank,
                                 .communicator = communicator,
                                 .greatest = -1,
                                 .recorded = -1,
                                 .greatest_done = -1,
                                 .first_pair = -1,
                                 .last_pair = -1};
    return reach;
}

const struct call_reach *call_reach_of(const struct call_states *states, int32_t rank, int32_t communicator)
{
    const int64_t *at = map_get(&states->reach_of, reach_key(rank, communicator));
    return at ? &states->reach[*at] : NULL;
}

/* Counts the finished sends and receives of a rank, and numbers the open ones in order. */
static int note_pair(struct call_states *states, int32_t at)
{
    const struct job_operation *operation = &states->job->operations[at];
    int64_t peer = states->job->calls[at].peer;
    int64_t which = operation->unfinished ? -2 : -1;
    int64_t *count = map_put(
        &states->pairs, pair_key(operation->rank, operation->communicator, operation->function, peer, which),
        0, NULL);
    if (!count)
        return -1;
    int64_t n = (*count)++;
    if (!operation->unfinished)
        return 0;
    return map_put(&states->pairs,
                   pair_key(operation->rank, operation->communicator, operation->function, peer, n), at, NULL)
               ? 0
               : -1;
}

static void note_pair_number(struct call_reach *reach, int64_t number)
{
    if (number < 0)
        return;
    if (reach->first_pair < 0)
        reach->first_pair = number;
    reach->pairs_counted += number != reach->last_pair;
    reach->last_pair = number;
}

static int note_operation(struct call_states *states, int32_t at)
{
    const struct job_operation *operation = &states->job->operations[at];
    struct call_reach *reach = reach_at(states, operation->rank, operation->communicator);
    int64_t number = states->job->calls[at].number;
    if (!reach)
        return -1;
    if (operation->unfinished && states->oldest[operation->rank] < 0)
        states->oldest[operation->rank] = at;
    states->is_done[operation->rank] |= !operation->unfinished;
    if (!is_collective(operation)) {
        states->has_pairs[operation->communicator] = 1;
        note_pair_number(reach, number);
        return note_pair(states, at);
    }
    if (number > reach->recorded)
        reach->recorded = reach->greatest = number;
    if (!operation->unfinished && number > reach->greatest_done)
        reach->greatest_done = number;
    return 0;
}

/*
 * Takes over how far ranks report that they came. On communicators with sends and receives the number may
 * count these as well as collectives.
 */
static int note_progress(struct call_states *states)
{
    const struct job *job = states->job;
    for (size_t i = 0; i < job->progress_count; i++) {
        const struct job_progress *progress = &job->progress[i];
        states->has_told[progress->rank] = 1;
        states->has_open[progress->rank] |=
            progress->completed >= 0 && progress->enqueued > progress->completed;
        if (states->has_pairs[progress->communicator] || progress->enqueued < 0)
            continue;
        struct call_reach *reach = reach_at(states, progress->rank, progress->communicator);
        if (!reach)
            return -1;
        reach->has_progress = 1;
        if (progress->enqueued > reach->greatest)
            reach->greatest = progress->enqueued;
        if (progress->completed > reach->greatest_done)
            reach->greatest_done = progress->completed;
    }
    return 0;
}

/*
 * Marks stale records. A full exchange that is finished on one rank was called by all ranks of its
 * communicator, so a record with less was written before, and shows nothing later.
 */
static int find_stale(struct call_states *states)
{
    const struct job *job = states->job;
    int64_t *done = array_new(job->communicator_count, sizeof *done);
    if (!done)
        return -1;
    for (size_t i = 0; i < job->communicator_count; i++)
        done[i] = -1;
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (is_collective(operation) && !operation->unfinished &&
            function_is_full_exchange(operation->function) &&
            job->calls[i].number > done[operation->communicator])
            done[operation->communicator] = job->calls[i].number;
    }
    for (size_t i = 0; i < states->reach_count; i++) {
        const struct call_reach *reach = &states->reach[i];
        if (reach->greatest >= 0 && reach->greatest < done[reach->communicator])
            states->is_stale[reach->rank] = 1;
    }
    free(done);
    return 0;
}

static int note_wanted(struct call_states *states)
{
    const struct job *job = states->job;
    for (size_t i = 0; i < job->rank_count; i++) {
        int32_t at = states->oldest[i];
        if (at >= 0 && is_collective(&job->operations[at]) &&
            !map_put(&states->wanted, wanted_key(job, at), 1, NULL))
            return -1;
    }
    for (size_t i = 0; states->wanted.count && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!is_collective(operation) || !map_get(&states->wanted, wanted_key(job, (int32_t)i)))
            continue;
        if (!map_put(&states->calls, call_key(operation->rank, operation->communicator, job->calls[i].number),
                     (int64_t)i, NULL))
            return -1;
    }
    return 0;
}

int call_states_init(struct call_states *states, const struct job *job)
{
    *states = (struct call_states){.job = job,
                                   .oldest = array_new(job->rank_count, sizeof *states->oldest),
                                   .is_done = array_new(job->rank_count, 1),
                                   .is_stale = array_new(job->rank_count, 1),
                                   .has_told = array_new(job->rank_count, 1),
                                   .has_open = array_new(job->rank_count, 1),
                                   .has_pairs = array_new(job->communicator_count, 1)};
    map_init(&states->wanted);
    map_init(&states->calls);
    map_init(&states->reach_of);
    map_init(&states->pairs);
    if (!states->oldest || !states->is_done || !states->is_stale || !states->has_told || !states->has_open ||
        !states->has_pairs)
        return -1;
    for (size_t i = 0; i < job->rank_count; i++)
        states->oldest[i] = -1;
    for (size_t i = 0; i < job->operation_count; i++)
        if (note_operation(states, (int32_t)i))
            return -1;
    return note_progress(states) || find_stale(states) || note_wanted(states) ? -1 : 0;
}

void call_states_release(struct call_states *states)
{
    free(states->oldest);
    free(states->is_done);
    free(states->is_stale);
    free(states->has_told);
    free(states->has_open);
    free(states->has_pairs);
    free(states->reach);
    map_release(&states->wanted);
    map_release(&states->calls);
    map_release(&states->reach_of);
    map_release(&states->pairs);
}

static struct call_at say(enum call_state state)
{
    return (struct call_at){.state = state, .operation = -1, .is_sure = 1};
}

/*
 * The state of a call with a greater number than any that a rank recorded. The ring buffer loses the oldest
 * calls, so the call was not made, unless the record is cut, or lists only open calls and none of that
 * communicator. A rank without open calls has made no call that others wait in.
 */
static struct call_at beyond_record(const struct call_states *states, int32_t rank, int32_t operation,
                                    const struct call_reach *reach)
{
    const struct job *job = states->job;
    const struct job_rank *of = &job->ranks[rank];
    if (reach && reach->has_progress)
        return say(CALL_NEVER);
    if (call_is_cut(job, rank))
        return say(CALL_UNKNOWN);
    if ((reach && reach->recorded >= 0) || of->count == 0)
        return say(CALL_NEVER);
    if (!states->is_done[rank])
        return say(CALL_UNKNOWN);
    /* Its ring buffer may have lost the call if that was long before the others made it. */
    int64_t called_ns = job->operations[operation].enqueued_ns;
    int is_before = of->first_issued_ns && called_ns != TIME_UNKNOWN && called_ns < of->first_issued_ns;
    struct call_at at = say(is_before ? CALL_UNKNOWN : CALL_NEVER);
    at.never_from_ns = of->first_issued_ns;
    return at;
}

struct call_at call_of(const struct call_states *states, int32_t rank, int32_t operation)
{
    const struct job *job = states->job;
    int32_t communicator = job->operations[operation].communicator;
    int64_t number = job->calls[operation].number;
    if (!call_is_recorded(job, rank))
        return say(CALL_UNKNOWN);
    const int64_t *at = map_get(&states->calls, call_key(rank, communicator, number));
    if (at)
        return (struct call_at){job->operations[*at].unfinished ? CALL_OPEN : CALL_DONE, (int32_t)*at, 1, 0};
    const struct call_reach *reach = call_reach_of(states, rank, communicator);
    if (states->is_stale[rank])
        return say(CALL_UNKNOWN);
    if (!reach || number > reach->greatest)
        return beyond_record(states, rank, operation, reach);
    if (number <= reach->greatest_done)
        return say(CALL_DONE);
    /* An open call would be recorded, unless the record is cut, so the call is finished. */
    return say(call_is_cut(job, rank) && number > reach->recorded ? CALL_UNKNOWN : CALL_DONE);
}

/* Whether all sends and receives of a rank on a communicator are recorded, from the first on. */
static int has_all_pairs(const struct call_states *states, int32_t rank, int32_t communicator)
{
    const struct call_reach *reach = call_reach_of(states, rank, communicator);
    if (call_is_cut(states->job, rank) || !reach)
        return 0;
    return reach->first_pair >= 0 && reach->first_pair <= 1 &&
           reach->pairs_counted == reach->last_pair - reach->first_pair + 1;
}

static int64_t count_pairs(const struct call_states *states, int32_t rank, int32_t communicator,
                           uint8_t function, int64_t peer)
{
    const int64_t *count = map_get(&states->pairs, pair_key(rank, communicator, function, peer, -1));
    return count ? *count : 0;
}

/* Its index among the open calls with the same function and peer, from 0. */
static int64_t place_among_open(const struct call_states *states, int32_t operation, int64_t peer)
{
    const struct job_operation *of = &states->job->operations[operation];
    for (int64_t n = 0;; n++) {
        const int64_t *at =
            map_get(&states->pairs, pair_key(of->rank, of->communicator, of->function, peer, n));
        if (!at || *at == operation)
            return n;
    }
}

struct call_at call_of_peer(const struct call_states *states, int32_t operation, int32_t *peer)
{
    const struct job *job = states->job;
    const struct job_operation *of = &job->operations[operation];
    uint8_t other = of->function == FUNCTION_SEND ? FUNCTION_RECV : FUNCTION_SEND;
    int64_t number = job->calls[operation].peer, mine = job->calls[operation].own_rank;
    *peer = number >= 0 ? job_rank_in(job, of->communicator, number) : -1;
    if (*peer < 0 || !call_is_recorded(job, *peer) || states->is_stale[*peer])
        return say(CALL_UNKNOWN);
    int64_t place = place_among_open(states, operation, number);
    const int64_t *at = map_get(&states->pairs, pair_key(*peer, of->communicator, other, mine, place));
    if (at)
        return (struct call_at){CALL_OPEN, (int32_t)*at, 1, 0};
    if (call_is_cut(job, *peer))
        return say(CALL_UNKNOWN);
    if (!has_all_pairs(states, of->rank, of->communicator))
        return (struct call_at){CALL_NEVER, -1, 0, 0};
    const struct call_reach *theirs = call_reach_of(states, *peer, of->communicator);
    if (theirs && theirs->first_pair >= 0 && !has_all_pairs(states, *peer, of->communicator))
        return (struct call_at){CALL_NEVER, -1, 0, 0};
    int64_t before = count_pairs(states, of->rank, of->communicator, of->function, number) + place;
    return say(count_pairs(states, *peer, of->communicator, other, mine) > before ? CALL_DONE : CALL_NEVER);
}

int call_is_launched_with(const struct job *job, int32_t operation, int32_t next)
{
    const struct job_operation *one = &job->operations[operation], *other = &job->operations[next];
    return !is_collective(one) && !is_collective(other) && one->rank == other->rank &&
           one->communicator == other->communicator && job->calls[operation].number >= 0 &&
           job->calls[operation].number == job->calls[next].number;
}

int is_recorded(const struct job *job, int32_t rank)
{
    return rank >= 0 && job->ranks[rank].count && job->ranks[rank].cut == CUT_NONE;
}

/* The number of members of a communicator whose record would show that they joined. */
static int32_t count_recorded(const struct job *job, const struct job_communicator *communicator)
{
    int32_t recorded = 0;
    for (size_t i = 0; i < communicator->member_list_count; i++)
        recorded += is_recorded(job, communicator->member_list[i].rank);
    return recorded;
}

/* `recorded` is that number for the communicator of the instance. */
static int instance_lacks_recorded_rank(const struct job *job, const struct job_instance *instance,
                                        int32_t recorded)
{
    if (instance->function == FUNCTION_SEND)
        return instance->members < instance->expected && is_recorded(job, instance->sender) &&
               is_recorded(job, instance->receiver);
    int32_t came = 0;
    for (int32_t i = 0; i < instance->members; i++)
        came += is_recorded(job, job_member(job, instance, i)->rank);
    return came < recorded;
}

unsigned char *list_lacking(const struct job *job)
{
    unsigned char *lacking = array_new(job->instance_count, 1);
    int32_t *recorded = array_new(job->communicator_count, sizeof *recorded);
    for (size_t i = 0; recorded && i < job->communicator_count; i++)
        recorded[i] = count_recorded(job, &job->communicators[i]);
    for (size_t i = 0; lacking && recorded && i < job->instance_count; i++)
        lacking[i] = (unsigned char)instance_lacks_recorded_rank(job, &job->instances[i],
                                                                 recorded[job->instances[i].communicator]);
    if (!recorded) {
        free(lacking);
        lacking = NULL;
    }
    free(recorded);
    return lacking;
}

static int64_t count_calls(const struct job *job, int32_t rank, int32_t communicator)
{
    const struct job_rank *of = &job->ranks[rank];
    int64_t count = 0;
    for (size_t i = of->first; i < of->first + of->count; i++)
        count += job->operations[i].communicator == communicator;
    return count;
}

/* The number of calls of one function. */
static int64_t count_of(const struct job *job, int32_t rank, int32_t communicator, enum function function)
{
    const struct job_rank *of = &job->ranks[rank];
    int64_t count = 0;
    for (size_t i = of->first; i < of->first + of->count; i++)
        count += job->operations[i].communicator == communicator && job->operations[i].function == function;
    return count;
}

/* Whether all ranks that made the call went on to the same number of calls on their communicator. */
static int have_equal_calls(const struct job *job, const struct job_instance *instance)
{
    int64_t first = 0;
    for (int32_t i = 0; i < instance->members; i++) {
        int64_t calls = count_calls(job, job_member(job, instance, i)->rank, instance->communicator);
        if (i > 0 && calls != first)
            return 0;
        first = calls;
    }
    return 1;
}

/* Whether its last call may wait for a rank without a record: a host that waits makes no further calls. */
static int may_wait_for_unrecorded(const struct job *job, int32_t rank)
{
    const struct job_rank *of = &job->ranks[rank];
    if (!of->count)
        return 1;
    const struct job_operation *last = &job->operations[of->first + of->count - 1];
    const struct job_instance *instance = &job->instances[last->instance];
    if (instance->function == FUNCTION_SEND)
        return instance->members < instance->expected;
    const struct job_communicator *communicator = &job->communicators[instance->communicator];
    return count_recorded(job, communicator) < communicator->size;
}

/*
 * RAS asks hosts of a job that may be running, each at a slightly different moment. A step of a healthy job
 * takes less than this: if no rank launches anything for so long, the job hangs.
 */
#define STANDS_NS INT64_C(60000000000)

/*
 * The hosts of a running job are often one call of each function apart; two of them are nearly always level.
 */
enum { APART_WHILE_RUNNING = 1, TOGETHER_BY_CHANCE = 2 };

static int is_one_moment(const struct job *job)
{
    return job->watch.is_watched && job->watch.no_progress_ns < STANDS_NS;
}

/* By how many calls of one function the ranks that made a call are ahead of a rank, at most. */
static int64_t calls_ahead(const struct job *job, const struct job_instance *instance, int32_t rank)
{
    int64_t most = 0;
    for (int32_t function = 0; instance->members > 0 && function < FUNCTION_COUNT; function++) {
        int32_t other = job_member(job, instance, 0)->rank;
        int64_t ahead = count_of(job, other, instance->communicator, (enum function)function) -
                        count_of(job, rank, instance->communicator, (enum function)function);
        most = ahead > most ? ahead : most;
    }
    return most;
}

/*
 * Whether RAS may have seen a running job. With a single report, the best evidence against it is that the
 * other ranks are level, and further ahead than the hosts of a running job are apart.
 */
static int may_run(const struct job *job, const struct job_instance *instance, int32_t rank)
{
    return is_one_moment(job) && (calls_ahead(job, instance, rank) <= APART_WHILE_RUNNING ||
                                  instance->members <= TOGETHER_BY_CHANCE);
}

int open_calls_are_ahead(const struct job *job, const struct job_instance *instance)
{
    return is_one_moment(job) && instance->expected > 2 * TOGETHER_BY_CHANCE &&
           2 * instance->members <= instance->expected;
}

/*
 * Where NCCL reports an error of another rank, RAS cannot tell whether a rank is behind because it waits for
 * that one.
 */
static int may_wait_for_failed(const struct job *job, int32_t rank)
{
    for (size_t i = 0; job->watch.is_watched && i < job->warning_count; i++)
        if (job->warnings[i].rank != rank && reported_is_own(job->warnings[i].kind))
            return 1;
    return 0;
}

enum confidence open_calls_confidence(const struct absence *absence, int32_t rank)
{
    const struct job *job = absence->job;
    const struct job_instance *instance = &job->instances[absence->ranks[rank].missing_from];
    int is_unsure = !have_equal_calls(job, instance) || may_wait_for_unrecorded(job, rank) ||
                    may_wait_for_failed(job, rank) || may_run(job, instance, rank);
    return is_unsure ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM;
}
