/*
 * Finds the order in which the operations of a job can be replayed, and the operations that do not wait for
 * the other members of their instance. replay.c uses both.
 */
#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* Marks the first operation of each group that contains a receive. */
static void mark_receiving(const struct job *job, unsigned char *receives)
{
    for (size_t i = 0; i < job->operation_count; i++)
        if (job->operations[i].function == FUNCTION_RECV)
            receives[job->operations[i].group] = 1;
}

/*
 * A send with a known end is over when its data are in buffers, even if the receiver arrives later. This does
 * not hold if it shares its kernel with a receive.
 */
static int leaves_alone(const struct replay *replay, int32_t at)
{
    const struct job_operation *operation = &replay->job->operations[at];
    return operation->function == FUNCTION_SEND && operation->start_ns != TIME_UNKNOWN &&
           operation->end_ns != TIME_UNKNOWN && !replay->receives[operation->group];
}

int replay_list_leavers(struct replay *replay)
{
    const struct job *job = replay->job;
    size_t count = 0;
    mark_receiving(job, replay->receives);
    for (size_t i = 0; i < job->operation_count; i++)
        count += leaves_alone(replay, (int32_t)i) != 0;
    replay->leavers = array_new(count, sizeof *replay->leavers);
    for (size_t i = 0; replay->leavers && i < job->operation_count; i++)
        if (leaves_alone(replay, (int32_t)i))
            replay->leavers[replay->leaver_count++] = (struct replay_leaver){
                .stay_ns = replay->ends[i] - job->operations[i].start_ns, .operation = (int32_t)i};
    return replay->leavers ? 0 : -1;
}

static int is_leaver_before(const void *leaver, const void *operation)
{
    return ((const struct replay_leaver *)leaver)->operation < *(const int32_t *)operation;
}

/* Index of an operation in the list of leavers. */
static int32_t leaver_of(const struct replay *replay, int32_t operation)
{
    return (int32_t)lower_bound(replay->leavers, replay->leaver_count, sizeof *replay->leavers,
                                is_leaver_before, &operation);
}

/* The operations that follow each operation, while the order is built. */
struct replay_successors {
    int32_t *first_child; /* per operation: one that follows it; -1: none */
    int32_t *sibling; /* per operation: the next one that follows the same operation; in the ready list, the
                         next entry */
    int32_t ready;    /* first operation of the ready list; -1: empty */
    int32_t *arrived; /* per instance: number of members that are in the order */
    int32_t *latest;  /* per rank: its last operation in the order; -1: none */
    size_t turn;      /* offset within each rank of the operation to check next for being stuck */
    size_t asked;     /* number of ranks checked at this offset */
};

static void replay_successors_release(struct replay_successors *successors)
{
    free(successors->first_child);
    free(successors->sibling);
    free(successors->arrived);
    free(successors->latest);
}

static int replay_successors_init(struct replay_successors *successors, const struct replay *replay)
{
    size_t operations = replay->job->operation_count;
    *successors = (struct replay_successors){
        .first_child = array_new(operations, sizeof *successors->first_child),
        .sibling = array_new(operations, sizeof *successors->sibling),
        .ready = -1,
        .arrived = array_new(replay->job->instance_count, sizeof *successors->arrived),
        .latest = array_new(replay->job->rank_count, sizeof *successors->latest)};
    if (!successors->first_child || !successors->sibling || !successors->arrived || !successors->latest)
        return -1;
    for (size_t i = 0; i < operations; i++)
        successors->first_child[i] = successors->sibling[i] = -1;
    for (size_t i = 0; i < replay->job->rank_count; i++)
        successors->latest[i] = -1;
    for (size_t i = 0; i < operations; i++) {
        int32_t after = replay->after[i];
        int32_t *list = after < 0 ? &successors->ready : &successors->first_child[after];
        successors->sibling[i] = *list;
        *list = (int32_t)i;
    }
    return 0;
}

/* Index of an operation in the order; -1: not in it yet. */
static int32_t place_of(const struct replay *replay, int32_t at)
{
    return replay->after[at] <= -2 ? -2 - replay->after[at] : -1;
}

static void follow(struct replay_successors *successors, int32_t at)
{
    int32_t next;
    for (int32_t child = successors->first_child[at]; child >= 0; child = next) {
        next = successors->sibling[child];
        successors->sibling[child] = successors->ready;
        successors->ready = child;
    }
}

/*
 * Adds an operation to the order. If it is the last member of its instance, all members end and the
 * operations after them become ready.
 */
static void place(struct replay *replay, struct replay_successors *successors, int32_t at)
{
    const struct job *job = replay->job;
    const struct job_operation *operation = &job->operations[at];
    const struct job_instance *instance = &job->instances[operation->instance];
    int32_t after = replay->after[at];
    if (place_of(replay, at) >= 0)
        return;
    struct replay_move *move = &replay->moves[replay->move_count];
    int leaves = leaves_alone(replay, at);
    *move = (struct replay_move){.operation = (unsigned)at & INT32_MAX,
                                 .own_or_leaver = leaves ? -1 - leaver_of(replay, at) : operation->group,
                                 .after = after < 0 ? -1 : place_of(replay, after),
                                 .instance = (unsigned)operation->instance & INT32_MAX,
                                 .is_first = !successors->arrived[operation->instance]++};
    replay->after[at] = -2 - (int32_t)replay->move_count++;
    successors->latest[operation->rank] = at;
    if (leaves)
        follow(successors, at);
    if (successors->arrived[operation->instance] < instance->members)
        return;
    move->is_last = 1;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t member = job_member_at(job, instance, i);
        if (!leaves_alone(replay, member))
            follow(successors, member);
    }
}

/* The next operation that is not in the order, by its offset in its rank; -1: none. */
static int32_t stuck(struct replay_successors *successors, const struct replay *replay)
{
    const struct job *job = replay->job;
    while (replay->move_count < job->operation_count) {
        if (successors->asked == job->rank_count) {
            successors->asked = 0;
            successors->turn++;
        }
        const struct job_rank *rank = &job->ranks[successors->asked++];
        if (successors->turn < rank->count && place_of(replay, (int32_t)(rank->first + successors->turn)) < 0)
            return (int32_t)(rank->first + successors->turn);
    }
    return -1;
}

/*
 * Contradictory times (a start recorded late) can make operations wait for each other in a cycle. To break
 * it, the first of them is made to follow the last operation of its rank in the order.
 */
static int32_t cut_circle(struct replay *replay, struct replay_successors *successors)
{
    int32_t at = stuck(successors, replay);
    if (at >= 0)
        replay->after[at] = successors->latest[replay->job->operations[at].rank];
    return at;
}

/*
 * The dependencies do not change with the times. So the order is found once, and each replay goes through it
 * from the front to the back.
 */
int replay_find_moves(struct replay *replay)
{
    struct replay_successors successors;
    int failed = replay_successors_init(&successors, replay);
    int32_t at;
    /*
     * An operation that broke a cycle is still in the list of those that follow another, so place() ignores
     * it the second time.
     */
    while (!failed &&
           (at = successors.ready >= 0 ? successors.ready : cut_circle(replay, &successors)) >= 0) {
        if (at == successors.ready)
            successors.ready = successors.sibling[at];
        place(replay, &successors, at);
    }
    replay_successors_release(&successors);
    return failed;
}
