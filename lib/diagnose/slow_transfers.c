/*
 * Finds instances whose transfers were slow, from durations and from slow links, and, where no network steps
 * are recorded, the rank whose sends made them slow. Runs after the baseline and the edges; suspicions about
 * networks use the result.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* The transfer of an instance counts once: at its first member. */
static int64_t transfer_at(const struct job *job, int32_t cell)
{
    const struct job_instance *instance = &job->instances[job->operations[cell].instance];
    int complete = instance->members == instance->expected;
    return complete && job->instance_members[instance->first_member] == cell ? instance->transfer_ns
                                                                             : TIME_UNKNOWN;
}

/* The measurement, with the memory of its threads. */
struct measuring {
    const struct job *job;
    const struct baseline *baseline;
    double sigmas;
    struct transfer_excess *transfers;
    struct place *places; /* owned */
    size_t place_count;
};

static void take_place(const struct measuring *measuring, struct place *place, int32_t role, int32_t position)
{
    const struct baseline *baseline = measuring->baseline;
    size_t ranks = baseline->roles[role].rank_count, steps = (size_t)baseline->step_count;
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = 0; step < baseline->step_count; step++) {
            int32_t cell = baseline_cell(baseline, role, position, rank, step);
            size_t at = rank * steps + (size_t)step;
            place->value[at] = cell < 0 ? TIME_UNKNOWN : transfer_at(measuring->job, cell);
            place->bytes[at] = cell < 0 ? 0 : measuring->job->operations[cell].bytes;
        }
    warm_up_drop(baseline, place->value, ranks, place->list);
}

/* Each instance is written at one place only (transfer_at), so threads need no lock. */
static void measure_place(void *context, size_t worker, size_t role, int32_t position)
{
    const struct measuring *measuring = context;
    const struct baseline *baseline = measuring->baseline;
    struct place *place = &measuring->places[worker];
    size_t ranks = baseline->roles[role].rank_count, steps = (size_t)baseline->step_count;
    take_place(measuring, place, (int32_t)role, position);
    int64_t sigma = place_measure(place, ranks, baseline->first_step, baseline->step_count);
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
            int64_t excess = place->value[rank * steps + (size_t)step];
            if (excess == TIME_UNKNOWN)
                continue;
            int32_t cell = baseline_cell(baseline, (int32_t)role, position, rank, step);
            struct transfer_excess *transfer =
                &measuring->transfers[measuring->job->operations[cell].instance];
            transfer->beyond_ns = excess;
            if ((double)excess > measuring->sigmas * (double)sigma)
                transfer->slow_ns = excess;
        }
}

static int measuring_init(struct measuring *measuring)
{
    size_t ranks = each_place_ranks(measuring->baseline), steps = (size_t)measuring->baseline->step_count;
    measuring->place_count = each_place_threads(measuring->baseline, measuring->job);
    measuring->places = array_new(measuring->place_count, sizeof *measuring->places);
    for (size_t i = 0; measuring->places && i < measuring->place_count; i++)
        if (place_init(&measuring->places[i], ranks, steps))
            return -1;
    return measuring->places ? 0 : -1;
}

int transfers_find_slow(const struct job *job, const struct baseline *baseline, double sigmas,
                        struct transfer_excess *transfers)
{
    struct measuring measuring = {.job = job, .baseline = baseline, .sigmas = sigmas, .transfers = transfers};
    int failed =
        measuring_init(&measuring) || each_place(baseline, measuring.place_count, measure_place, &measuring);
    for (size_t i = 0; measuring.places && i < measuring.place_count; i++)
        place_release(&measuring.places[i]);
    free(measuring.places);
    return failed ? -1 : 0;
}

/*
 * How long a member was in the operation; -1: unknown. If the end of its kernel is not the real end, as for
 * the leaf of a tree, until the next operation of its stream began.
 */
static int64_t stay_of(const struct job_operation *member, int64_t next_ns)
{
    int64_t end_ns = job_left_ns(member, next_ns);
    if (end_ns == TIME_UNKNOWN)
        end_ns = member->end_ns;
    return member->start_ns == TIME_UNKNOWN || end_ns == TIME_UNKNOWN ? -1 : end_ns - member->start_ns;
}

/*
 * An operation was delayed by at most the duration of its longest member, and a receive by at most its own
 * duration: before it started, its sender waited for it. INT64_MAX where the trace cannot tell.
 */
static int64_t longest_member(const struct job *job, const struct job_instance *instance,
                              const int64_t *next_starts)
{
    int64_t longest = -1;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        int64_t stay_ns = stay_of(&job->operations[at], next_starts[at]);
        longest = stay_ns > longest ? stay_ns : longest;
    }
    int64_t received_ns = job_received_ns(job, instance);
    return longest < 0 || received_ns < longest ? received_ns : longest;
}

/*
 * Whether the instance hung because a member is missing, and no member called another operation after it. Its
 * links then waited for that member.
 */
static int never_ended(const struct job *job, const struct job_instance *instance, const int64_t *next_starts)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (next_starts[job_member_at(job, instance, i)] != TIME_UNKNOWN)
            return 0;
    return instance->members < instance->expected;
}

int transfers_find_slow_links(const struct job *job, const struct edges *edges,
                              struct transfer_excess *transfers)
{
    int64_t *next_starts = job_next_starts(job);
    for (size_t i = 0; next_starts && i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        struct transfer_excess *excess = &transfers[i];
        int64_t over = 0, busy = 0;
        for (size_t j = edges->first[i]; j < edges->first[i + 1]; j++)
            if (edges->items[j].over_ns > over) {
                over = edges->items[j].over_ns;
                busy = edges->items[j].busy_ns;
            }
        /* If no member ended before the link did, all members show the delay. */
        int holds_some = instance->transfer_ns < busy;
        if (over <= 0 || (excess->slow_ns && (!holds_some || excess->slow_ns >= over / 2)))
            continue;
        int64_t longest = longest_member(job, instance, next_starts);
        if (longest == INT64_MAX && never_ended(job, instance, next_starts))
            continue;
        over = over < longest ? over : longest;
        if (over <= excess->slow_ns)
            continue;
        excess->some_ns = holds_some ? over - excess->slow_ns : 0;
        excess->slow_ns = over;
        /* TIME_UNKNOWN is less, too. */
        if (excess->beyond_ns < over)
            excess->beyond_ns = over;
    }
    int failed = next_starts ? 0 : -1;
    free(next_starts);
    return failed;
}

struct transfer_excess *transfers_new(const struct job *job)
{
    struct transfer_excess *transfers = array_new(job->instance_count, sizeof *transfers);
    for (size_t i = 0; transfers && i < job->instance_count; i++)
        transfers[i] = (struct transfer_excess){.beyond_ns = TIME_UNKNOWN, .culprit = -1};
    return transfers;
}

int64_t transfer_usual_ns(const struct job_instance *instance, const struct transfer_excess *excess)
{
    int64_t took_ns = instance->transfer_ns + excess->some_ns;
    return instance->transfer_ns == TIME_UNKNOWN || took_ns <= excess->slow_ns ? TIME_UNKNOWN
                                                                               : took_ns - excess->slow_ns;
}

int32_t *transfers_slow_by_step(const struct job *job, const struct transfer_excess *transfers, size_t *first)
{
    int32_t *slow = array_new(job->instance_count, sizeof *slow);
    size_t count = 0;
    for (int32_t step = 0; slow && step < job->step_count; step++) {
        struct job_range instances = job_instances_in(job, step, step);
        for (size_t i = instances.first; i < instances.end; i++)
            if (transfers[job->by_step[i]].slow_ns > 0)
                slow[count++] = job->by_step[i];
        first[step + 1] = count;
    }
    return slow;
}

/*
 * Slow senders without network steps.
 *
 * The slow instances of a step are visited from the slowest on. A rank that may have sent slowly in the
 * instance is blamed if it explains clearly more of the slow instances of the step than any other rank, in
 * more than one communicator. It then takes the blame for all that it explains. If two ranks explain about
 * the same, longer own time does not decide, because a rank that waits for a slow sender has it as well. A
 * single pair is blamed on its sender, unless only its latency shows it, which does not tell the sender from
 * the receiver. An instance without a culprit is skipped, and the others are still to be explained.
 */
struct cover {
    const struct job *job;
    struct transfer_excess *transfers;
    const int32_t *slow; /* the step's slow instances */
    size_t count;
    int32_t step;
    int64_t *explained_ns;  /* per rank: what it explains of the instances without a culprit */
    int32_t *communicator;  /* per rank: the communicator in which it was slow, SEVERAL or NOWHERE */
    int32_t *blamed;        /* per rank: the last step in which it was blamed; -1 */
    unsigned char *is_left; /* per slow instance: it still needs an explanation */
    unsigned char *cleared; /* per operation: its rank is at neither end of the slow link of the ring */
};

enum { NOWHERE = -1, SEVERAL = -2, MOST_CULPRITS = 16 };

/* Whether the host enqueued the operation late, so that it did not wait for anything on the GPU. */
static int is_hosts(const struct job_operation *operation, int64_t hidden_ns)
{
    return operation->enqueued_ns != TIME_UNKNOWN && operation->start_ns != TIME_UNKNOWN &&
           operation->start_ns - operation->enqueued_ns < hidden_ns / 2;
}

/* A receive with an unknown end is as slow as the lateness that it passed on. */
static void add_hidden_lateness(const struct job *job, const struct hidden_lateness *hidden,
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

/* Finds the ranks at neither end of a ring's slow link, where the order of ends is conclusive. */
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
 * Iterates over the ranks that may have sent slowly: the sender of a pair, or all members of a collective
 * that are not cleared; -1 after the last. `next` starts at 0.
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

/* Adds the time of a slow instance to each possible sender, or subtracts it. */
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

/*
 * A rank that explains more than this many tenths of what the best one explains cannot be distinguished from
 * it.
 */
enum { ALIKE_TENTHS = 8 };

/*
 * Whether both sides of a pair took longer than the baseline by at least half of the slowness, so that
 * neither side was merely late. The sender ends a little earlier, when its data are in the network's buffers.
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

/*
 * Whether the instance is slow only by the lateness that passed through the receive, and its receiver was
 * already blamed for more in this step.
 */
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
        top_two_add(&explained, rank, cover->explained_ns[rank]);
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
    for (size_t i = 0; i < cover->count; i++) {
        cover->is_left[i] = 0;
        if (!slow_at(cover, i)->by_latency)
            explain(cover, i, 1);
    }
    for (int tries = 0; tries < MOST_CULPRITS && (at = slowest_left(cover)) < cover->count; tries++) {
        int32_t rank = culprit_of(cover, at);
        if (rank >= 0)
            blame(cover, rank);
        else
            explain(cover, at, -1);
    }
    forget(cover);
}

int blame_without_network_steps(const struct job *job, const struct baseline *baseline,
                                struct transfer_excess *transfers)
{
    add_hidden_lateness(job, baseline->hidden, transfers);
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

void transfers_note_culprit(struct transfer_excess *transfers, const int64_t *cuts, size_t count,
                            int32_t rank)
{
    for (size_t i = 0; i < count; i++)
        if (cuts[i] > 0 && transfers[i].culprit < 0) {
            transfers[i].culprit = rank;
            transfers[i].slow_ns = cuts[i];
        }
}
