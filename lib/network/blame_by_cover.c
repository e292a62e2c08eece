#include "network/blame_by_cover.h"

#include "base/array.h"
#include "base/top_two.h"
#include "job/step_index.h"
#include "network/ring.h"

#include <stdlib.h>

/*
 * Without network steps. The instances of a step that were slow are gone through from the slowest: of the
 * ranks that may have sent slowly in it, the one that would explain clearly more of the step's slow instances
 * than any other, and in more than one communicator, is to blame for all that it explains. Where two explain
 * about the same, own time that grew beside it tells nothing: who waits for a slow sender has it, too. A lone
 * pair is its sender's. An instance that nobody can be blamed for leaves the others to be explained.
 */
struct cover {
    const struct job *job;
    struct transfer_excess *transfers;
    const int32_t *slow; /* the step's slow instances */
    size_t count;
    int32_t step;
    int64_t *explained_ns;  /* per rank: of what nobody is to blame for yet */
    int32_t *communicator;  /* per rank: the one it was slow in, SEVERAL, or NOWHERE */
    int32_t *blamed;        /* per rank: the last step in which it was to blame; -1 */
    unsigned char *is_left; /* per slow instance: it may still be explained */
    unsigned char *cleared; /* per operation: it was at neither end of the slow link of its ring */
};

enum { NOWHERE = -1, SEVERAL = -2, MOST_CULPRITS = 16 };

/* Its host enqueued it only then: it waited for nothing on the GPU. */
static int is_hosts(const struct job_operation *operation, int64_t hidden_ns)
{
    return operation->enqueued_ns != TIME_UNKNOWN && operation->start_ns != TIME_UNKNOWN &&
           operation->start_ns - operation->enqueued_ns < hidden_ns / 2;
}

/* A receive that does not say when it ended is slow by the lateness that came through it. */
static void take_hidden(const struct job *job, const struct hidden_lateness *hidden,
                        struct transfer_excess *transfers)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (hidden[i].hidden_ns <= 0 || !hidden[i].stands_out ||
            job->operations[operation->previous].function != FUNCTION_RECV ||
            is_hosts(operation, hidden[i].hidden_ns))
            continue;
        struct transfer_excess *transfer = &transfers[job->operations[operation->previous].instance];
        if (!transfer->slow_ns)
            transfer->slow_ns = hidden[i].hidden_ns;
    }
}

/* Where the order of ends tells who was at neither end of a ring's slow link. */
static int clear_members(struct cover *cover)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < cover->job->instance_count; i++)
        if (cover->transfers[i].slow_ns)
            failed = ring_clear_members(cover->job, &cover->job->instances[i], cover->transfers[i].slow_ns,
                                        cover->cleared);
    return failed;
}

/*
 * Who may have sent slowly, one after the other: the sender of a pair, all members of a collective that are
 * not cleared; -1 past the last. `next` starts at 0.
 */
static int32_t next_sender(const struct cover *cover, const struct job_instance *instance, int32_t *next)
{
    if (instance->function == FUNCTION_SEND)
        return (*next)++ ? -1 : instance->sender;
    while (*next < instance->members) {
        int32_t at = job_member_at(cover->job, instance, (*next)++);
        if (!cover->cleared[at])
            return cover->job->operations[at].rank;
    }
    return -1;
}

static const struct job_instance *slow_at(const struct cover *cover, size_t at)
{
    return &cover->job->instances[cover->slow[at]];
}

static int64_t slow_ns_at(const struct cover *cover, size_t at)
{
    return cover->transfers[cover->slow[at]].slow_ns;
}

/* Adds what a slow instance explains of each sender, or takes it away again. */
static void explain(struct cover *cover, size_t at, int sign)
{
    const struct job_instance *instance = slow_at(cover, at);
    int32_t rank;
    for (int32_t i = 0; (rank = next_sender(cover, instance, &i)) >= 0;) {
        cover->explained_ns[rank] += sign * slow_ns_at(cover, at);
        if (cover->communicator[rank] != instance->communicator)
            cover->communicator[rank] =
                cover->communicator[rank] == NOWHERE ? instance->communicator : SEVERAL;
    }
    cover->is_left[at] = sign > 0;
}

static void forget(struct cover *cover)
{
    for (size_t i = 0; i < cover->count; i++) {
        const struct job_instance *instance = slow_at(cover, i);
        int32_t rank;
        for (int32_t j = 0; (rank = next_sender(cover, instance, &j)) >= 0;) {
            cover->explained_ns[rank] = 0;
            cover->communicator[rank] = NOWHERE;
        }
    }
}

/* Who explains more than so many tenths of what the best does may be the best but for chance. */
enum { ALIKE_TENTHS = 8 };

/*
 * Whether both sides of a pair were at it for longer than usual, by half of what it took too long: neither
 * was merely late. The sender is done a little earlier, when its data is in the network's buffers.
 */
static int took_both_long(const struct job *job, const struct job_instance *instance, int64_t slow_ns)
{
    int64_t usual_ns = instance->transfer_ns == TIME_UNKNOWN || instance->transfer_ns < slow_ns
                           ? 0
                           : instance->transfer_ns - slow_ns;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        if (member->start_ns == TIME_UNKNOWN || member->end_ns == TIME_UNKNOWN ||
            member->end_ns - member->start_ns < usual_ns + slow_ns / 2)
            return 0;
    }
    return instance->function == FUNCTION_SEND && instance->members == 2;
}

/* Only the lateness that came through the receive is slow, and its rank was to blame for more already. */
static int is_receivers_own(const struct cover *cover, size_t at)
{
    const struct job_instance *instance = slow_at(cover, at);
    const struct transfer_excess *transfer = &cover->transfers[cover->slow[at]];
    return instance->function == FUNCTION_SEND && instance->receiver >= 0 &&
           cover->blamed[instance->receiver] == cover->step &&
           (transfer->beyond_ns == TIME_UNKNOWN || transfer->beyond_ns < transfer->slow_ns / 2);
}

static int32_t culprit_of(const struct cover *cover, size_t at)
{
    const struct job_instance *instance = slow_at(cover, at);
    struct top_two explained = {.rank = -1};
    int32_t rank;
    if (is_receivers_own(cover, at))
        return -1;
    for (int32_t i = 0; (rank = next_sender(cover, instance, &i)) >= 0;)
        top_two_enter(&explained, rank, cover->explained_ns[rank]);
    if (explained.rank < 0 || explained.second * 10 > explained.most * ALIKE_TENTHS)
        return -1;
    int is_sure = cover->communicator[explained.rank] == SEVERAL ||
                  took_both_long(cover->job, instance, slow_ns_at(cover, at));
    return is_sure ? explained.rank : -1;
}

static int has_sent(const struct cover *cover, const struct job_instance *instance, int32_t rank)
{
    int32_t here;
    for (int32_t i = 0; (here = next_sender(cover, instance, &i)) >= 0;)
        if (here == rank)
            return 1;
    return 0;
}

static void blame(struct cover *cover, int32_t rank)
{
    cover->blamed[rank] = cover->step;
    for (size_t i = 0; i < cover->count; i++)
        if (cover->is_left[i] && has_sent(cover, slow_at(cover, i), rank)) {
            cover->transfers[cover->slow[i]].culprit = rank;
            explain(cover, i, -1);
        }
}

static size_t slowest_left(const struct cover *cover)
{
    size_t slowest = cover->count;
    for (size_t i = 0; i < cover->count; i++)
        if (cover->is_left[i] &&
            (slowest == cover->count || slow_ns_at(cover, i) > slow_ns_at(cover, slowest)))
            slowest = i;
    return slowest;
}

static void cover_step(struct cover *cover)
{
    size_t at;
    for (size_t i = 0; i < cover->count; i++)
        explain(cover, i, 1);
    for (int tries = 0; tries < MOST_CULPRITS && (at = slowest_left(cover)) < cover->count; tries++) {
        int32_t rank = culprit_of(cover, at);
        if (rank >= 0)
            blame(cover, rank);
        else
            explain(cover, at, -1);
    }
    forget(cover);
}

int cover_slow_instances(const struct job *job, const struct baseline *baseline,
                         struct transfer_excess *transfers)
{
    take_hidden(job, baseline->hidden, transfers);
    size_t *first = array_new((size_t)job->step_count + 2, sizeof *first);
    int32_t *slow = first ? transfers_slow_by_step(job, transfers, first) : NULL;
    struct cover cover = {.job = job,
                          .transfers = transfers,
                          .explained_ns = array_new(job->rank_count, sizeof *cover.explained_ns),
                          .communicator = array_new(job->rank_count, sizeof *cover.communicator),
                          .blamed = array_new(job->rank_count, sizeof *cover.blamed),
                          .is_left = array_new(job->instance_count, sizeof *cover.is_left),
                          .cleared = array_new(job->operation_count, sizeof *cover.cleared)};
    int failed = !slow || !cover.explained_ns || !cover.communicator || !cover.blamed || !cover.is_left ||
                 !cover.cleared || clear_members(&cover);
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        cover.communicator[i] = NOWHERE;
        cover.blamed[i] = -1;
    }
    for (int32_t step = 0; !failed && step < job->step_count; step++) {
        cover.step = step;
        cover.slow = slow + first[step];
        cover.count = first[step + 1] - first[step];
        cover_step(&cover);
    }
    free(first);
    free(slow);
    free(cover.explained_ns);
    free(cover.communicator);
    free(cover.blamed);
    free(cover.is_left);
    free(cover.cleared);
    return failed ? -1 : 0;
}
