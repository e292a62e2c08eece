#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"

#include <stdlib.h>

/*
 * Whose slow links made instances slow. First, of each instance alone, the ends of its edges that explain it;
 * then, over all slow instances of a step, the ranks that explain most of them.
 */

/* Who may have made an instance slow: the rank that most of the extra waiting was sent by, and sent to. */
struct link_ends {
    int32_t sender;   /* -1: several */
    int32_t receiver; /* -1: several */
};

static int64_t extra_of(const struct edge *edge, int by_links)
{
    int64_t extra = by_links ? edge->over_ns : edge->extra_ns;
    return extra > 0 ? extra : 0;
}

/* The extra waiting of one end of the edges, summed where it is the same rank as at edge `at`. */
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

/* The extra waiting of all edges of a rank, whichever way. */
static int64_t extra_of_rank(const struct edges *edges, size_t first, size_t last, int32_t rank, int by_links)
{
    int64_t extra = 0;
    for (size_t i = first; i < last; i++)
        if (edges->items[i].sender == rank || edges->items[i].receiver == rank)
            extra += extra_of(&edges->items[i], by_links);
    return extra;
}

/*
 * A rank whose network thread stands still takes nothing from the one before it either: the end of the
 * slowest edge whose edges hold two thirds of the extra waiting, when no other rank can hold three quarters
 * of that: it has one edge with this one, and what is left. -1: there is none.
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
 * An end explains a slow transfer when two thirds of all extra waiting is its. Where that is less than half
 * of what the transfer was slow by, something else made it slow.
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
 * Slow instances, a step at a time. A rank whose sends are slow shows at many receivers, one that receives
 * slowly at many senders: the side that explains most takes the blame for all it explains, then the next. A
 * lone edge is its sender's.
 */
struct blame {
    const struct job *job;
    struct transfer_excess *transfers; /* per instance */
    struct link_ends *ends;            /* per instance */
    int32_t *slow;                     /* all slow instances, by step */
    size_t *first;                     /* [step]: the first of its slow instances, and one past the end */
    const int32_t *here;               /* those of the step looked at */
    size_t here_count;
    int64_t *sent;     /* per rank */
    int64_t *received; /* per rank */
};

/* The slow instances of a step. */
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

/* The end that explains most of what is not explained yet; 0 when nothing is left. */
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
    /* To be preferred, a receiver has to explain clearly more than any sender. */
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

/*
 * What a rank is blamed for in a step, and whom nearly all of that (three quarters) was sent to.
 */
struct aim {
    int64_t all_ns;
    int64_t there_ns;
    int64_t lead_ns;  /* of the receiver, as long as they are gone through */
    int64_t most_ns;  /* the most that one of those is blamed for who aim at this rank */
    int32_t receiver; /* -1: several, or not known */
    int is_counted;
};

/* Who is blamed for less than one part in so many of what another one is does not show the same slowness. */
enum { WEAK_AIM = 4 };

static int is_aimed(const struct aim *aim)
{
    return aim->receiver >= 0 && aim->there_ns * 4 >= aim->all_ns * 3;
}

/* Whoever gets more than half of all is left over, in whatever order they come (Boyer and Moore's vote). */
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

/* Who is blamed for what in a step, by rank; of those not blamed nothing is changed. */
static void take_aim(const struct blame *blame, struct aim *aims)
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
 * One of those who are blamed in a step and aim at a receiver, in passes: forgets what was noted of that,
 * notes the most that one of them is blamed for, and counts those who are not blamed for far less.
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

/* The receiver that several of those aim at who are blamed in a step; -1. `aimers` is a number per rank. */
static int32_t common_receiver(const struct blame *blame, struct aim *aims, int32_t *aimers)
{
    int32_t found = -1;
    take_aim(blame, aims);
    for (int pass = 0; pass <= 2; pass++)
        for (size_t i = 0; i < blame->here_count; i++) {
            int32_t culprit = blame->transfers[blame->here[i]].culprit;
            if (culprit < 0 || !is_aimed(&aims[culprit]))
                continue;
            count_aimer(aims, aimers, culprit, pass);
            if (aimers[aims[culprit].receiver] >= 2)
                found = aims[culprit].receiver;
        }
    return found;
}

static void blame_receiver(const struct blame *blame, struct aim *aims, int32_t receiver)
{
    take_aim(blame, aims);
    for (size_t i = 0; i < blame->here_count; i++) {
        struct transfer_excess *transfer = &blame->transfers[blame->here[i]];
        const struct link_ends *ends = &blame->ends[blame->here[i]];
        if (transfer->culprit >= 0 && transfer->culprit == ends->sender && ends->receiver == receiver &&
            is_aimed(&aims[transfer->culprit]) && aims[transfer->culprit].receiver == receiver)
            transfer->culprit = receiver;
    }
}

/* Whether a rank is to blame in a step for what was sent to it. */
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
 * Two senders and more whose slow sends nearly all go to one rank have nothing else in common: that one
 * receives slowly, where that was so in the step before or after, too, or it is to blame there. -1 when
 * memory is out.
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
