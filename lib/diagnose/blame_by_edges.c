/*
 * Finds the rank whose links made instances slow, from network steps: first for each instance the ends of its
 * edges that explain it, then over all slow instances of a step the ranks that explain most of them. Runs
 * after slow_transfers.c.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"

#include <stdlib.h>

/* The ranks that may have made an instance slow: the sender and the receiver of most of the extra wait. */
struct link_ends {
    int32_t sender;   /* -1: several */
    int32_t receiver; /* -1: several */
};

static int64_t extra_of(const struct edge *edge, int by_links)
{
    int64_t extra = by_links ? edge->over_ns : edge->extra_ns;
    return extra > 0 ? extra : 0;
}

/* The extra wait of all edges that share the rank at one end of edge `at`. */
static int64_t extra_of_end(const struct edges *edges, size_t first, size_t last, size_t at, int by_receiver,
                            int by_links)
{
    int64_t extra = 0;
    int32_t rank = by_receiver ? edges->items[at].receiver : edges->items[at].sender;
    for (size_t i = first; i < last; i++)
        if ((by_receiver ? edges->items[i].receiver : edges->items[i].sender) == rank)
            extra += extra_of(&edges->items[i], by_links);
    return extra;
}

static int has_slow_link(const struct edges *edges, size_t number)
{
    size_t i = edges->first[number];
    while (i < edges->first[number + 1] && !edges->items[i].over_ns)
        i++;
    return i < edges->first[number + 1];
}

/* The extra wait of all edges of a rank, in both directions. */
static int64_t extra_of_rank(const struct edges *edges, size_t first, size_t last, int32_t rank, int by_links)
{
    int64_t extra = 0;
    for (size_t i = first; i < last; i++)
        if (edges->items[i].sender == rank || edges->items[i].receiver == rank)
            extra += extra_of(&edges->items[i], by_links);
    return extra;
}

/*
 * A rank whose network thread is stuck does not take data from the rank before it either. Returns the end of
 * the slowest edge whose edges hold two thirds of the extra wait, if no other rank can hold three quarters of
 * that: another rank shares one edge with it and may have all the rest. -1: there is none.
 */
static int32_t rank_between(const struct edges *edges, size_t first, size_t last, size_t slowest,
                            int by_links, int64_t total)
{
    int32_t sender = edges->items[slowest].sender, receiver = edges->items[slowest].receiver;
    int64_t sends = extra_of_rank(edges, first, last, sender, by_links);
    int64_t receives = extra_of_rank(edges, first, last, receiver, by_links);
    int64_t most = sends > receives ? sends : receives;
    int64_t other = total - most + extra_of(&edges->items[slowest], by_links);
    if (most * 3 < total * 2 || other * 4 >= most * 3)
        return -1;
    return sends > receives ? sender : receiver;
}

/*
 * An end explains a slow transfer if its edges hold two thirds of all extra wait. If the extra wait is less
 * than half of the slowness of the transfer, something else made it slow.
 */
static struct link_ends slow_ends(const struct edges *edges, size_t number, int64_t slow_ns)
{
    size_t first = edges->first[number], last = edges->first[number + 1], best = last;
    int64_t total = 0;
    int by_links = has_slow_link(edges, number);
    struct link_ends ends = {-1, -1};
    for (size_t i = first; i < last; i++) {
        int64_t extra = extra_of(&edges->items[i], by_links);
        total += extra;
        if (best == last || extra > extra_of(&edges->items[best], by_links))
            best = i;
    }
    if (best == last || total * 2 < slow_ns)
        return ends;
    if (extra_of_end(edges, first, last, best, 0, by_links) * 3 >= total * 2)
        ends.sender = edges->items[best].sender;
    if (extra_of_end(edges, first, last, best, 1, by_links) * 3 >= total * 2)
        ends.receiver = edges->items[best].receiver;
    if (ends.sender < 0 && ends.receiver < 0)
        ends.sender = rank_between(edges, first, last, best, by_links, total);
    return ends;
}

/*
 * Slow instances, one step at a time. A rank that sends slowly shows at many receivers, one that receives
 * slowly at many senders. The side that explains most is blamed for all that it explains, then the next. A
 * single edge is blamed on its sender.
 */
struct blame {
    const struct job *job;
    struct transfer_excess *transfers; /* per instance */
    struct link_ends *ends;            /* per instance */
    int32_t *slow;                     /* all slow instances, sorted by step */
    size_t *first;       /* [step]: index of the first of its slow instances; one extra entry at the end */
    const int32_t *here; /* those of the current step */
    size_t here_count;
    int64_t *sent;     /* per rank */
    int64_t *received; /* per rank */
};

/* Selects the slow instances of a step. */
static void look_at(struct blame *blame, int32_t step)
{
    blame->here = blame->slow + blame->first[step];
    blame->here_count = blame->first[step + 1] - blame->first[step];
}

static void weigh_ends(const struct blame *blame)
{
    for (int count = 0; count <= 1; count++)
        for (size_t i = 0; i < blame->here_count; i++) {
            const struct link_ends *ends = &blame->ends[blame->here[i]];
            const struct transfer_excess *transfer = &blame->transfers[blame->here[i]];
            int64_t slow_ns = transfer->culprit < 0 ? transfer->slow_ns : 0;
            if (ends->sender >= 0)
                blame->sent[ends->sender] = count ? blame->sent[ends->sender] + slow_ns : 0;
            if (ends->receiver >= 0)
                blame->received[ends->receiver] = count ? blame->received[ends->receiver] + slow_ns : 0;
        }
}

/* The end that explains most of what is still unexplained; returns 0 when nothing is left. */
static int greatest_end(const struct blame *blame, struct link_ends *greatest)
{
    int64_t sent = 0, received = 0;
    *greatest = (struct link_ends){-1, -1};
    for (size_t i = 0; i < blame->here_count; i++) {
        const struct link_ends *ends = &blame->ends[blame->here[i]];
        if (blame->transfers[blame->here[i]].culprit >= 0)
            continue;
        if (ends->sender >= 0 && blame->sent[ends->sender] > sent) {
            sent = blame->sent[ends->sender];
            greatest->sender = ends->sender;
        }
        if (ends->receiver >= 0 && blame->received[ends->receiver] > received) {
            received = blame->received[ends->receiver];
            greatest->receiver = ends->receiver;
        }
    }
    /* A receiver is preferred only if it explains clearly more than any sender. */
    if (received * 2 > sent * 3)
        greatest->sender = -1;
    else
        greatest->receiver = -1;
    return sent > 0 || received > 0;
}

static void blame_step(const struct blame *blame)
{
    struct link_ends greatest;
    for (weigh_ends(blame); greatest_end(blame, &greatest); weigh_ends(blame))
        for (size_t i = 0; i < blame->here_count; i++) {
            struct transfer_excess *transfer = &blame->transfers[blame->here[i]];
            const struct link_ends *ends = &blame->ends[blame->here[i]];
            if (transfer->culprit < 0 && ((greatest.sender >= 0 && ends->sender == greatest.sender) ||
                                          (greatest.receiver >= 0 && ends->receiver == greatest.receiver)))
                transfer->culprit = greatest.sender >= 0 ? greatest.sender : greatest.receiver;
        }
}

/* What a rank is blamed for in a step, and the receiver of nearly all of it (three quarters). */
struct aim {
    int64_t all_ns;
    int64_t there_ns;
    int64_t lead_ns;  /* lead of the current candidate for `receiver` in the vote */
    int64_t most_ns;  /* the most that any rank with this one as its main receiver is blamed for */
    int32_t receiver; /* -1: several, or unknown */
    int is_counted;
};

/*
 * A rank that is blamed for less than one part in this many of what another one is does not show the same
 * slowness.
 */
enum { WEAK_AIM = 4 };

static int has_main_receiver(const struct aim *aim)
{
    return aim->receiver >= 0 && aim->there_ns * 4 >= aim->all_ns * 3;
}

/*
 * Majority vote: a receiver of more than half of the total remains as the candidate, in any order (Boyer and
 * Moore).
 */
static void vote(struct aim *aim, int32_t receiver, int64_t slow_ns)
{
    aim->lead_ns += receiver == aim->receiver ? slow_ns : -slow_ns;
    if (aim->lead_ns < 0) {
        aim->receiver = receiver;
        aim->lead_ns = -aim->lead_ns;
    }
}

static void add_to_aim(struct aim *aim, int pass, int32_t receiver, int64_t slow_ns)
{
    if (!pass) {
        *aim = (struct aim){.receiver = -1};
    } else if (pass == 1) {
        aim->all_ns += slow_ns;
        if (receiver >= 0)
            vote(aim, receiver, slow_ns);
    } else if (receiver >= 0 && receiver == aim->receiver) {
        aim->there_ns += slow_ns;
    }
}

/* Sums what each rank is blamed for in a step. Entries of ranks that are not blamed stay unchanged. */
static void sum_blame_by_rank(const struct blame *blame, struct aim *aims)
{
    for (int pass = 0; pass <= 2; pass++)
        for (size_t i = 0; i < blame->here_count; i++) {
            const struct transfer_excess *transfer = &blame->transfers[blame->here[i]];
            const struct link_ends *ends = &blame->ends[blame->here[i]];
            int is_sent = ends->sender == transfer->culprit;
            if (transfer->culprit >= 0)
                add_to_aim(&aims[transfer->culprit], pass, is_sent ? ends->receiver : -1, transfer->slow_ns);
        }
}

/*
 * Visits a blamed rank that has a main receiver, in three passes: reset the receiver's counts, store the most
 * that one of its senders is blamed for, count the senders that are not blamed for far less.
 */
static void count_aimer(struct aim *aims, int32_t *aimers, int32_t culprit, int pass)
{
    struct aim *aim = &aims[culprit], *there = &aims[aim->receiver];
    if (!pass) {
        aimers[aim->receiver] = 0;
        there->most_ns = 0;
    } else if (pass == 1) {
        there->most_ns = aim->all_ns > there->most_ns ? aim->all_ns : there->most_ns;
    } else if (!aim->is_counted && aim->all_ns * WEAK_AIM >= there->most_ns) {
        aimers[aim->receiver]++;
        aim->is_counted = 1;
    }
}

/*
 * The rank that is the main receiver of several blamed ranks in a step; -1. `aimers` has one count per rank.
 */
static int32_t common_receiver(const struct blame *blame, struct aim *aims, int32_t *aimers)
{
    int32_t found = -1;
    sum_blame_by_rank(blame, aims);
    for (int pass = 0; pass <= 2; pass++)
        for (size_t i = 0; i < blame->here_count; i++) {
            int32_t culprit = blame->transfers[blame->here[i]].culprit;
            if (culprit < 0 || !has_main_receiver(&aims[culprit]))
                continue;
            count_aimer(aims, aimers, culprit, pass);
            if (aimers[aims[culprit].receiver] >= 2)
                found = aims[culprit].receiver;
        }
    return found;
}

static void blame_receiver(const struct blame *blame, struct aim *aims, int32_t receiver)
{
    sum_blame_by_rank(blame, aims);
    for (size_t i = 0; i < blame->here_count; i++) {
        struct transfer_excess *transfer = &blame->transfers[blame->here[i]];
        const struct link_ends *ends = &blame->ends[blame->here[i]];
        if (transfer->culprit >= 0 && transfer->culprit == ends->sender && ends->receiver == receiver &&
            has_main_receiver(&aims[transfer->culprit]) && aims[transfer->culprit].receiver == receiver)
            transfer->culprit = receiver;
    }
}

/* Whether a rank is blamed in a step for what was sent to it. */
static int receives_slowly(struct blame *blame, int32_t step, int32_t rank)
{
    if (step < 0 || step >= blame->job->step_count)
        return 0;
    look_at(blame, step);
    size_t i = 0;
    while (i < blame->here_count &&
           (blame->transfers[blame->here[i]].culprit != rank || blame->ends[blame->here[i]].receiver != rank))
        i++;
    return i < blame->here_count;
}

/*
 * If nearly all slow sends of two or more ranks go to one rank, that rank is what they have in common: it
 * receives slowly. This must also hold in the step before or after, or the rank must be blamed there. Returns
 * -1 when memory runs out.
 */
static int blame_receivers(struct blame *blame)
{
    const struct job *job = blame->job;
    struct aim *aims = array_new(job->rank_count, sizeof *aims);
    int32_t *aimers = array_new(job->rank_count, sizeof *aimers);
    int32_t *common = array_new((size_t)job->step_count + 2, sizeof *common);
    int failed = !aims || !aimers || !common;
    for (int32_t step = 0; !failed && step < job->step_count; step++) {
        look_at(blame, step);
        common[step + 1] = common_receiver(blame, aims, aimers);
    }
    if (!failed)
        common[0] = common[job->step_count + 1] = -1;
    for (int32_t step = 0; !failed && step < job->step_count; step++) {
        int32_t here = common[step + 1];
        if (here < 0 || (here != common[step] && here != common[step + 2] &&
                         !receives_slowly(blame, step - 1, here) && !receives_slowly(blame, step + 1, here)))
            continue;
        look_at(blame, step);
        blame_receiver(blame, aims, here);
    }
    free(aims);
    free(aimers);
    free(common);
    return failed ? -1 : 0;
}

int edges_blame(const struct job *job, const struct edges *edges, struct transfer_excess *transfers)
{
    struct blame blame = {.job = job,
                          .transfers = transfers,
                          .ends = array_new(job->instance_count, sizeof *blame.ends),
                          .first = array_new((size_t)job->step_count + 2, sizeof *blame.first),
                          .sent = array_new(job->rank_count, sizeof *blame.sent),
                          .received = array_new(job->rank_count, sizeof *blame.received)};
    blame.slow = blame.first ? transfers_slow_by_step(job, transfers, blame.first) : NULL;
    int failed = !blame.ends || !blame.slow || !blame.sent || !blame.received;
    for (size_t i = 0; !failed && i < job->instance_count; i++)
        blame.ends[i] =
            transfers[i].slow_ns > 0 ? slow_ends(edges, i, transfers[i].slow_ns) : (struct link_ends){-1, -1};
    for (int32_t step = 0; !failed && step < job->step_count; step++) {
        look_at(&blame, step);
        blame_step(&blame);
    }
    failed = failed || blame_receivers(&blame);
    free(blame.ends);
    free(blame.first);
    free(blame.slow);
    free(blame.sent);
    free(blame.received);
    return failed ? -1 : 0;
}
