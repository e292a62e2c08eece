/*
 * Finds ranks whose NCCL proxy threads get too little CPU time, from how late they notice what the GPU did
 * (struct job_service), and turns them into findings of the host. Such a rank sends and receives late, so its
 * links look slow and its partners wait. Runs before the searches for late ranks and slow senders, which
 * leave out what is found here.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/evidence.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Degrees of freedom of Student's t, nearly normal: join_rows has taken the heavy tail off. */
static const double TAIL = 30;
/*
 * In recorded jobs without contention, at most 0.01 of the notices of a rank are late. Where many times as
 * much is usual, they measure something else than waiting for a core.
 */
static const double LEAST_LATE = 0.01, MOST_LATE = 0.1;
/*
 * A thread that gets too little time also takes longer to send what its GPU has produced, and to notice that
 * it has produced something, on all links of its rank: SendWait and SendGpuWait both grow. A slow network
 * makes the first grow, a slow GPU or another rank the second. Both count from SERVICE_TIMES the rank's
 * median step on. Logarithms of these ratios differ by SERVICE_SPREAD in steps without a fault.
 */
static const double SERVICE_SPREAD = 0.5, SERVICE_TIMES = 2;
/* If this part of a host's ranks was late, its cores were busy. */
static const double MOST_OF_HOST = 0.75;
/* More groups at once than this cannot be told apart, and each takes two replays. Fewer steps are no set
 * (scan_row). */
enum { MOST_GROUPS = 12, LEAST_STEPS = 3 };

/* A rank, or the ranks of a host. */
struct ranks {
    const int32_t *items; /* borrowed */
    size_t count;
};

/* Ranks of one host whose proxy threads were late in the same steps. */
struct late_ranks {
    unsigned char *has; /* owned: [rank] */
    size_t count;
    int32_t rank;       /* the lowest of them */
    struct ranks ranks; /* what the search found */
    struct step_set steps;
    int is_steady; /* late in all steps */
    double certainty;
};

/* A time that is taken from the replay: of an operation's own time, or of an instance's transfer. */
struct saving {
    int32_t index;
    int64_t ns;
};

struct savings {
    struct saving *items; /* owned */
    size_t count;
    size_t capacity;
};

/* Values of ranks in steps, sorted. */
struct values {
    double *items; /* owned */
    size_t count;
};

struct late_search {
    struct findings *findings;
    const struct job *job;
    const struct baseline *baseline;
    struct transfer_excess *transfers;
    const struct diagnose_options *options;
    struct replay *replay;
    struct partitions partitions;
    double *rows;      /* owned: [rank * steps + step], see value_of(); NAN: unknown, warm-up, or explained */
    double *services;  /* owned: same index, growth of both services of the sends, in SERVICE_SPREAD */
    double *joint;     /* owned: [step], the row of several ranks */
    struct values all; /* the known ones of `rows` */
    struct values near;   /* of these, those that are not compared with */
    const int32_t *apart; /* borrowed: the ranks of the host that `near` is of; NULL */
    double mean;          /* mean rarity of the others */
    double usual_part;    /* usual_part() */
    double *list;         /* owned: scratch, [rank] or [step] */
    int only_sets;        /* late in all steps is no hypothesis */
    struct late_ranks found;
    struct savings own;     /* by operation */
    struct savings shorter; /* by instance */
    struct slowness slowness;
};

static double *row_of(const struct late_search *it, size_t rank)
{
    return &it->rows[rank * (size_t)it->job->step_count];
}

static const struct job_service *service_at(const struct late_search *it, size_t rank, int32_t step)
{
    return &it->job->services[rank * (size_t)it->job->step_count + (size_t)step];
}

/* The late ones among sampled notices; NAN: none is recorded. */
static double late_part(int64_t late, int64_t samples)
{
    return samples ? (double)late / (double)samples : NAN;
}

static void add_notices(struct job_service *sum, const struct job_service *service)
{
    sum->late += service->late;
    sum->samples += service->samples;
}

/*
 * The lower quartile of the late parts of ranks over all steps, at least LEAST_LATE. Half of the ranks may be
 * late: those of one host of two.
 */
static double usual_part(const struct late_search *it)
{
    size_t count = 0;
    for (size_t rank = 0; rank < it->job->rank_count; rank++) {
        struct job_service sum = {0};
        for (int32_t step = it->baseline->first_step; step < it->job->step_count; step++)
            add_notices(&sum, service_at(it, rank, step));
        if (sum.samples)
            it->list[count++] = late_part(sum.late, sum.samples);
    }
    sort_reals(it->list, count);
    return fmax(count ? it->list[(count - 1) / 4] : 0, LEAST_LATE);
}

/* The median over steps of the services of a rank: SendWait, or SendGpuWait. */
static double usual_service(const struct late_search *it, size_t rank, int of_produce)
{
    size_t count = 0;
    for (int32_t step = it->baseline->first_step; step < it->job->step_count; step++) {
        const struct job_service *service = service_at(it, rank, step);
        it->list[count++] = (double)(of_produce ? service->produce_ns : service->send_ns);
    }
    sort_reals(it->list, count);
    return count ? it->list[(count - 1) / 2] : 0;
}

static void fill_services(struct late_search *it)
{
    for (size_t rank = 0; rank < it->job->rank_count; rank++) {
        double sent_ns = usual_service(it, rank, 0), produced_ns = usual_service(it, rank, 1);
        for (int32_t step = it->baseline->first_step; step < it->job->step_count; step++) {
            const struct job_service *service = service_at(it, rank, step);
            double times = sent_ns > 0 && produced_ns > 0 ? fmin((double)service->send_ns / sent_ns,
                                                                 (double)service->produce_ns / produced_ns)
                                                          : 1;
            it->services[rank * (size_t)it->job->step_count + (size_t)step] =
                times >= SERVICE_TIMES ? log(times) / SERVICE_SPREAD : 0;
        }
    }
}

/*
 * How many more notices were late than is usual, in standard deviations of their number; 0: not more; NAN:
 * none is recorded. Slow services add to it.
 */
static double value_of(const struct late_search *it, size_t rank, int32_t step)
{
    const struct job_service *service = service_at(it, rank, step);
    double usual = it->usual_part * (double)service->samples;
    double value = ((double)service->late - usual) / sqrt(usual);
    /* Where most notices take long, but less than a slice, the clocks are not known well enough. */
    int is_coarse = service->between * 2 > service->notices;
    return service->samples && !is_coarse
               ? fmax(value, 0) + it->services[rank * (size_t)it->job->step_count + (size_t)step]
               : NAN;
}

static void fill_rows(struct late_search *it)
{
    it->usual_part = usual_part(it);
    for (size_t rank = 0; rank < it->job->rank_count; rank++)
        for (int32_t step = 0; step < it->job->step_count; step++)
            row_of(it, rank)[step] = it->usual_part <= MOST_LATE && step >= it->baseline->first_step
                                         ? value_of(it, rank, step)
                                         : NAN;
}

static struct ranks ranks_of(const struct partition *partition, size_t unit)
{
    return (struct ranks){partition->ranks + partition->first[unit], unit_size(partition, unit)};
}

/* Sorts the known values of ranks. Returns their number. */
static size_t sort_values(const struct late_search *it, struct ranks ranks, double *list)
{
    size_t count = 0;
    for (size_t i = 0; i < ranks.count; i++)
        for (int32_t step = 0; step < it->job->step_count; step++)
            if (!isnan(row_of(it, (size_t)ranks.items[i])[step]))
                list[count++] = row_of(it, (size_t)ranks.items[i])[step];
    sort_reals(list, count);
    return count;
}

static int is_real_before(const void *item, const void *wanted)
{
    return *(const double *)item < *(const double *)wanted;
}

/* How many values are at least as great. */
static size_t count_from(const struct values *values, double value)
{
    return values->count - lower_bound(values->items, values->count, sizeof value, is_real_before, &value);
}

/*
 * How rare it is that `beyond` of the values of other ranks are as great, in standard deviations; `each` are
 * counted as one.
 */
static double rarity_of(const struct late_search *it, size_t each, size_t beyond)
{
    double known = (double)(it->all.count - it->near.count);
    return sqrt(2 * log((1 + known / (double)each) / (1 + (double)beyond / (double)each)));
}

static double rarity(const struct late_search *it, double value)
{
    return value > 0 ? rarity_of(it, 1, count_from(&it->all, value) - count_from(&it->near, value)) : 0;
}

/*
 * Compares ranks with those of other hosts; where nothing is known of these, with the other ranks; else with
 * their own steps.
 */
static void compare_apart(struct late_search *it, struct ranks ranks)
{
    const struct partition *hosts = partitions_hosts(&it->partitions);
    struct ranks host = ranks_of(hosts, (size_t)hosts->unit_of[ranks.items[0]]);
    if (host.items == it->apart)
        return;
    it->apart = host.items;
    it->near.count = sort_values(it, host, it->near.items);
    if (it->near.count == it->all.count) {
        it->apart = NULL;
        it->near.count = sort_values(it, ranks, it->near.items);
    }
    if (it->near.count == it->all.count)
        it->near.count = 0;
    size_t positive = count_from(&it->all, DBL_MIN) - count_from(&it->near, DBL_MIN);
    it->mean = 0;
    for (size_t beyond = 1; beyond <= positive; beyond++)
        it->mean += rarity_of(it, 1, beyond) / (double)(it->all.count - it->near.count);
}

/*
 * Sums the rarities of ranks, less their mean, as one standard normal variable; NAN: nothing is known. What
 * delays all ranks of a host for a moment may come in one of as many steps as are known.
 */
static void join_rows(struct late_search *it, struct ranks ranks, double *row)
{
    compare_apart(it, ranks);
    double most = rarity_of(it, ranks.count, 0);
    for (int32_t step = 0; step < it->job->step_count; step++) {
        double sum = 0, known = 0;
        for (size_t i = 0; i < ranks.count; i++) {
            double value = row_of(it, (size_t)ranks.items[i])[step];
            sum += isnan(value) ? 0 : rarity(it, value) - it->mean;
            known += !isnan(value);
        }
        row[step] = known > 0 ? fmin(sum / sqrt(known), most) : NAN;
    }
}

/* Each rank and host may be late in a set of steps, or in all steps. */
static double certainty_of(const struct late_search *it, int is_steady, const struct step_set *set)
{
    size_t units = it->job->rank_count + partitions_hosts(&it->partitions)->count;
    return set->score - (is_steady ? 0 : scan_sets(it->job->step_count)) - log(2 * (double)units);
}

static void keep_best(struct late_search *it, struct ranks ranks, int is_steady, const struct step_set *set)
{
    double certainty = set->score > 0 ? certainty_of(it, is_steady, set) : 0;
    if (certainty <= it->found.certainty)
        return;
    it->found.certainty = certainty;
    it->found.steps = *set;
    it->found.is_steady = is_steady;
    it->found.ranks = ranks;
}

/* What a late part exceeds the usual one by, as if LEAST_LATE were usual: in proportion. */
static double beyond_usual(const struct late_search *it, const struct job_service *sum)
{
    return sum->samples ? (late_part(sum->late, sum->samples) / it->usual_part - 1) * LEAST_LATE : 0;
}

/* In how many steps more notices of the ranks were late than usual by the limit, or services were slow. */
static int32_t count_late(const struct late_search *it, struct ranks ranks)
{
    int32_t steps = 0;
    for (int32_t step = it->baseline->first_step; step < it->job->step_count; step++) {
        struct job_service sum = {0};
        int is_slow = 0;
        for (size_t i = 0; i < ranks.count; i++) {
            size_t rank = (size_t)ranks.items[i];
            if (isnan(row_of(it, rank)[step]))
                continue;
            add_notices(&sum, service_at(it, rank, step));
            is_slow |= it->services[rank * (size_t)it->job->step_count + (size_t)step] > 0;
        }
        steps += is_slow || beyond_usual(it, &sum) >= limit_of(LIMIT_LATE_NOTICES);
    }
    return steps;
}

/* Tries some steps and all steps. -1 when memory runs out. */
static int try_ranks(struct late_search *it, struct ranks ranks)
{
    const struct job *job = it->job;
    struct step_set best, all = {.first = it->baseline->first_step, .last = job->step_count - 1, .period = 1};
    if (count_late(it, ranks) < LEAST_STEPS)
        return 0;
    join_rows(it, ranks, it->joint);
    if (scan_row(it->joint, job->step_numbers, job->step_count, TAIL, &best))
        return -1;
    keep_best(it, ranks, 0, &best);
    scan_set(it->joint, TAIL, &all);
    if (!it->only_sets)
        keep_best(it, ranks, 1, &all);
    return 0;
}

/* Finds the rank or the host that is most certainly late. -1 when memory runs out. */
static int find_best(struct late_search *it)
{
    const struct partition *singles = &it->partitions.items[0], *hosts = partitions_hosts(&it->partitions);
    it->found.certainty = 0;
    it->all.count = sort_values(it, (struct ranks){singles->ranks, it->job->rank_count}, it->all.items);
    it->apart = NULL;
    for (size_t unit = 0; unit < singles->count; unit++)
        if (try_ranks(it, ranks_of(singles, unit)))
            return -1;
    for (size_t unit = 0; hosts != singles && unit < hosts->count; unit++)
        if (unit_size(hosts, unit) > 1 && try_ranks(it, ranks_of(hosts, unit)))
            return -1;
    return 0;
}

/* The late ones among the notices of ranks in the steps that were found, beyond what is usual. */
static double excess_part(const struct late_search *it, struct ranks ranks)
{
    const struct step_set *steps = &it->found.steps;
    struct job_service sum = {0};
    for (size_t i = 0; i < ranks.count; i++)
        for (int32_t step = steps->first; step <= steps->last; step++)
            if (step_set_has(steps, step))
                add_notices(&sum, service_at(it, (size_t)ranks.items[i], step));
    return beyond_usual(it, &sum);
}

/*
 * Whether a rank was late in the steps that were found: as much as others of a late host, or with a score of
 * its own.
 */
static int is_late_too(struct late_search *it, const int32_t *rank, double *score)
{
    const struct ranks *ranks = &it->found.ranks;
    struct step_set set = it->found.steps;
    join_rows(it, (struct ranks){rank, 1}, it->joint);
    scan_set(it->joint, TAIL, &set);
    *score = set.score;
    if (ranks->count > 1)
        return excess_part(it, (struct ranks){rank, 1}) >= excess_part(it, *ranks) / 2;
    return *rank == ranks->items[0] || certainty_of(it, 1, &set) >= limit_of(LIMIT_CERTAINTY);
}

/* Whether the rank sent or received over the network in the first or the last step. */
static int has_traffic(const struct late_search *it, int32_t rank)
{
    const struct job_service *first = service_at(it, (size_t)rank, it->found.steps.first),
                             *last = service_at(it, (size_t)rank, it->found.steps.last);
    return first->send_ns + first->drain_ns + last->send_ns + last->drain_ns > 0;
}

/*
 * Adds the ranks of the same host that were late in the same steps. These pay no penalty for the steps again.
 * If at least half of its ranks were, and most of those without traffic, all are: kernels that wait for the
 * network start and stop while the thread has a core.
 */
static void gather(struct late_search *it)
{
    const struct partition *hosts = partitions_hosts(&it->partitions);
    struct ranks ranks = ranks_of(hosts, (size_t)hosts->unit_of[it->found.ranks.items[0]]);
    double score, sum = 0, shown = 0;
    memset(it->found.has, 0, it->job->rank_count);
    it->found.count = 0;
    for (size_t i = 0; i < ranks.count; i++) {
        int is_late = is_late_too(it, &ranks.items[i], &score);
        shown += is_late || !has_traffic(it, ranks.items[i]);
        sum += is_late ? score : 0;
        it->found.has[ranks.items[i]] = (unsigned char)is_late;
        it->found.count += (size_t)is_late;
    }
    size_t count = it->found.count;
    if (!count || (count > 1 && count * 2 >= ranks.count && (double)count >= MOST_OF_HOST * shown))
        for (size_t i = 0; i < ranks.count; i++)
            it->found.has[ranks.items[i]] = 1;
    it->found.rank = 0;
    while (!it->found.has[it->found.rank])
        it->found.rank++;
    if (it->found.ranks.count > 1)
        return;
    it->found.steps.score = sum;
    it->found.certainty = certainty_of(it, it->found.is_steady, &it->found.steps);
}

/* The mean notice of the ranks in their steps, or of the other ranks in these steps; in nanoseconds. */
static double notice_of(const struct late_search *it, int of_others)
{
    double notice_ns = 0, notices = 0;
    for (size_t rank = 0; rank < it->job->rank_count; rank++)
        for (int32_t step = it->found.steps.first; step <= it->found.steps.last; step++) {
            const struct job_service *service = service_at(it, rank, step);
            if (it->found.has[rank] == of_others || !step_set_has(&it->found.steps, step))
                continue;
            notice_ns += (double)service->notice_ns;
            notices += (double)service->notices;
        }
    return notices > 0 ? notice_ns / notices : 0;
}

static void forget_found(struct late_search *it)
{
    for (size_t rank = 0; rank < it->job->rank_count; rank++)
        for (int32_t step = it->found.steps.first; it->found.has[rank] && step <= it->found.steps.last;
             step++)
            if (step_set_has(&it->found.steps, step))
                row_of(it, rank)[step] = NAN;
}

static int add_saving(struct savings *savings, int32_t index, int64_t ns)
{
    if (array_reserve((void **)&savings->items, &savings->capacity, savings->count + 1,
                      sizeof *savings->items))
        return -1;
    savings->items[savings->count++] = (struct saving){index, ns};
    return 0;
}

static int has_member(const struct late_search *it, const struct job_instance *instance)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (it->found.has[job_member(it->job, instance, i)->rank])
            return 1;
    return 0;
}

/*
 * By how much a transfer exceeds its baseline, or the same kind of operation in other steps if that is more:
 * the calls of a step may be in another order where a host is late, and then its places have no healthy
 * steps.
 */
static int64_t excess_of_transfer(const struct late_search *it, int32_t at, const struct kind_times *kinds)
{
    const struct job_instance *instance = &it->job->instances[at];
    int64_t beyond_ns = it->transfers[at].beyond_ns > 0 ? it->transfers[at].beyond_ns : 0;
    int64_t usual_ns = kind_times_median(kinds, it->job, instance);
    if (usual_ns != TIME_UNKNOWN && instance->transfer_ns - usual_ns > beyond_ns)
        beyond_ns = instance->transfer_ns - usual_ns;
    int64_t took_ns = instance->transfer_ns + it->transfers[at].some_ns;
    return beyond_ns < took_ns ? beyond_ns : took_ns;
}

/* Lists by how much the transfers that the ranks took part in were slow. -1 when memory runs out. */
static int cut_transfers(struct late_search *it)
{
    const struct job *job = it->job;
    struct kind_times kinds;
    struct job_range instances = job_instances_in(job, it->found.steps.first, it->found.steps.last);
    int failed = kind_times_init(&kinds, job, it->baseline->first_step, &it->found.steps);
    for (size_t i = instances.first; !failed && i < instances.end; i++) {
        int32_t at = job->by_step[i];
        const struct job_instance *instance = &job->instances[at];
        if (!step_set_has(&it->found.steps, instance->step) || instance->transfer_ns == TIME_UNKNOWN ||
            !has_member(it, instance))
            continue;
        int64_t slow_ns = excess_of_transfer(it, at, &kinds);
        if (slow_ns <= 0)
            continue;
        it->slowness.operations++;
        it->slowness.transfer_ns += instance->transfer_ns + it->transfers[at].some_ns;
        it->slowness.slow_ns += slow_ns;
        failed = add_saving(&it->shorter, at, slow_ns);
    }
    kind_times_release(&kinds);
    return failed ? -1 : 0;
}

/* Lists by how much the ranks were late by themselves, whether or not it stands out at the place. */
static int cut_own(struct late_search *it)
{
    const struct job *job = it->job;
    for (size_t rank = 0; rank < job->rank_count; rank++) {
        struct job_range range =
            job_operations_in(job, (int32_t)rank, it->found.steps.first, it->found.steps.last);
        for (size_t i = range.first; it->found.has[rank] && i < range.end; i++) {
            int64_t ns = excess_of(it->baseline, job, &job->operations[i]).beyond_ns;
            if (ns <= 0 || job->operations[i].step < 0 ||
                !step_set_has(&it->found.steps, job->operations[i].step))
                continue;
            ns = ns < it->replay->own_ns[i] ? ns : it->replay->own_ns[i];
            if (add_saving(&it->own, (int32_t)i, ns))
                return -1;
        }
    }
    return 0;
}

/* Takes the cuts out of the replay; with sign 1, puts them back. */
static void change_replay(struct late_search *it, int sign)
{
    for (size_t i = 0; i < it->own.count; i++)
        it->replay->own_ns[it->own.items[i].index] += sign * it->own.items[i].ns;
    for (size_t i = 0; i < it->shorter.count; i++)
        replay_change_transfer(it->replay, (size_t)it->shorter.items[i].index,
                               sign * it->shorter.items[i].ns);
}

static int64_t sum_of(const struct savings *savings)
{
    int64_t sum_ns = 0;
    for (size_t i = 0; i < savings->count; i++)
        sum_ns += savings->items[i].ns;
    return sum_ns;
}

/* Replays the job without what the late threads cost. -1 when memory runs out. */
static int measure_gain(struct late_search *it, int64_t *gain_ns)
{
    it->own.count = it->shorter.count = 0;
    it->slowness = (struct slowness){0};
    if (cut_own(it) || cut_transfers(it))
        return -1;
    int64_t with_ns = replay_run(it->replay);
    change_replay(it, -1);
    *gain_ns = with_ns - replay_run(it->replay);
    return 0;
}

/*
 * By how much consecutive steps were surely longer, and at most the excess of what the ranks did in them. The
 * replay shows less where the ends of operations are not recorded.
 */
static int64_t shown_cost_ns(const struct lengthening *lengthening, int64_t slow_ns)
{
    double doubt = limit_of(LIMIT_ERRORS) * lengthening->error_ns;
    double sure_ns = ((double)lengthening->some_ns - doubt) * lengthening->part;
    return !lengthening->is_known || sure_ns <= 0 ? 0
           : sure_ns < (double)slow_ns            ? (int64_t)sure_ns
                                                  : slow_ns;
}

/* The cost, limited by the duration of the steps where these are consecutive. -1 when memory runs out. */
static int ask_steps(const struct late_search *it, int64_t gain_ns, struct finding *finding)
{
    struct lengthening lengthening;
    const struct costly_steps steps = {.first = finding->first_step, .last = finding->last_step};
    finding->lost_ns = gain_ns > 0 ? gain_ns : 0;
    if (it->found.is_steady || it->found.steps.period > 1)
        return 0;
    if (lengthening_measure(&lengthening, &steps, it->job, it->baseline))
        return -1;
    int64_t most_ns = lengthening.most_ns, shown_ns = shown_cost_ns(&lengthening, finding->slow_ns);
    finding->lost_ns = shown_ns > finding->lost_ns ? shown_ns : finding->lost_ns;
    finding->lost_ns = finding->lost_ns < most_ns ? finding->lost_ns : most_ns > 0 ? most_ns : 0;
    finding_ask_steps(it->findings, finding, &lengthening, gain_ns);
    return 0;
}

/*
 * Whether the services of the sends show it in most steps, and the notices at all: a thread that sends all
 * the time has few other moments in which it could be late.
 */
static int is_shown_by_services(const struct late_search *it)
{
    int32_t known = 0, slow = 0;
    for (size_t rank = 0; rank < it->job->rank_count; rank++)
        for (int32_t step = it->found.steps.first; it->found.has[rank] && step <= it->found.steps.last;
             step++)
            if (step_set_has(&it->found.steps, step)) {
                known++;
                slow += it->services[rank * (size_t)it->job->step_count + (size_t)step] > 0;
            }
    return slow * 2 > known && excess_part(it, it->found.ranks) * 2 >= limit_of(LIMIT_LATE_NOTICES);
}

static void ask(const struct late_search *it, struct finding *finding)
{
    const struct findings *findings = it->findings;
    double certainty = it->found.certainty - log(job_selection_ratio(it->job));
    double worth =
        ratio_of(finding->lost_ns, it->baseline->median_step_ns) / step_set_count(&it->found.steps);
    worth = it->options->min_gain > 0 ? worth / it->options->min_gain : worth > 0 ? 2 : 0;
    finding_ask(findings, finding, RULE_NOTICES,
                is_shown_by_services(it) ? NOT_ASKED : excess_part(it, it->found.ranks));
    finding_ask(findings, finding, RULE_CERTAINTY, certainty);
    finding_ask(findings, finding, RULE_CERTAINTY_SURE, certainty);
    finding_ask(findings, finding, RULE_WORTH, worth);
    finding_ask(findings, finding, RULE_WORTH_SURE, worth);
    finding_ask(findings, finding, RULE_ESTIMATED, !job_records_calls(it->job, finding->rank));
    finding_ask_record(findings, finding, it->job, it->baseline);
}

static int append_evidence(struct late_search *it, struct finding *finding)
{
    struct buffer *text = &finding->evidence;
    int64_t others_ns = (int64_t)notice_of(it, 1);
    figures_add_time(&finding->figures, "notice_us_mean", finding->notice_ns);
    figures_add_time(&finding->figures, "notice_us_mean_others", others_ns);
    int of_dumps = !job_records_calls(it->job, finding->rank);
    if (buffer_append_text(text,
                           of_dumps ? "The recorder's thread dumped finished operations "
                                    : "NCCL's proxy threads noticed that a kernel had started or stopped ") ||
        text_time(text, finding->notice_ns) || buffer_append_text(text, " late on average (other ranks ") ||
        text_time(text, others_ns) ||
        buffer_append_text(text, it->job->traffic_count ? "), also while nothing was sent" : ")"))
        return -1;
    return it->slowness.operations ? buffer_append_text(text, ". ") || slowness_append(&it->slowness, finding)
                                   : 0;
}

static int fill(struct late_search *it, struct finding *finding)
{
    const struct late_ranks *found = &it->found;
    finding->kind = FINDING_HOST;
    finding->confidence = CONFIDENCE_HIGH;
    finding->rank = found->rank;
    finding->tag = -1;
    finding->certainty = found->certainty;
    finding->notice_ns = (int64_t)notice_of(it, 0);
    finding->slow_ns = sum_of(&it->own) + sum_of(&it->shorter);
    return finding_take_steps(finding, &found->steps) ||
           finding_take_ranks(finding, found->has, it->job->rank_count) || append_evidence(it, finding);
}

/* Whether a finding is about one of the ranks, or about a link of one. */
static int names_found(const struct late_search *it, const struct finding *finding)
{
    int names = it->found.has[finding->rank];
    for (size_t i = 0; i < finding->rank_count; i++)
        names |= it->found.has[finding->ranks[i]];
    for (size_t i = 0; finding->kind == FINDING_NETWORK && i < finding->peer_count; i++)
        names |= it->found.has[finding->peers[i]];
    return names;
}

/* Whether an earlier finding shares more than half of the steps of the shorter one. */
static int is_in(const struct late_search *it, const struct finding *finding)
{
    int32_t shared = 0, steps = finding->last_step - finding->first_step + 1,
            counted = step_set_count(&it->found.steps);
    if (finding->kind > FINDING_NETWORK || finding->notice_ns || finding->first_step < 0 ||
        !names_found(it, finding))
        return 0;
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        shared += step_set_has(&it->found.steps, step);
    return shared * 2 > (steps < counted ? steps : counted);
}

/* The threads explain the transfers, whatever was blamed before. */
static void note_culprit(struct late_search *it)
{
    for (size_t i = 0; i < it->shorter.count; i++) {
        struct transfer_excess *transfer = &it->transfers[it->shorter.items[i].index];
        transfer->culprit = it->found.rank;
        transfer->slow_ns = it->shorter.items[i].ns;
    }
}

/* Adds the finding, or leaves the replay and the findings as they were. Returns whether it did; -1 when
 * memory runs out. */
static int take(struct late_search *it)
{
    int64_t gain_ns;
    if (measure_gain(it, &gain_ns))
        return -1;
    struct finding *finding = findings_add(it->findings);
    if (!finding || fill(it, finding) || ask_steps(it, gain_ns, finding))
        return -1;
    ask(it, finding);
    if (finding->confidence == CONFIDENCE_LOW) {
        change_replay(it, 1);
        findings_remove(it->findings, it->findings->count - 1);
        return 0;
    }
    note_culprit(it);
    for (size_t i = it->findings->count - 1; i-- > 0;)
        if (is_in(it, &it->findings->items[i]))
            findings_remove(it->findings, i);
    return 1;
}

static int take_all(struct late_search *it)
{
    for (int i = 0; i < MOST_GROUPS; i++) {
        if (find_best(it))
            return -1;
        if (it->found.certainty < limit_of(LIMIT_CERTAINTY))
            return 0;
        gather(it);
        int taken = take(it);
        if (taken < 0)
            return -1;
        /* What costs too little in all steps may cost enough in some. */
        it->only_sets = !taken && it->found.is_steady;
        if (!it->only_sets)
            forget_found(it);
    }
    return 0;
}

static int search_init(struct late_search *it, const struct edges *edges)
{
    size_t ranks = it->job->rank_count, steps = (size_t)it->job->step_count;
    it->rows = array_new(ranks * steps, sizeof *it->rows);
    it->services = array_new(ranks * steps, sizeof *it->services);
    it->joint = array_new(steps, sizeof *it->joint);
    it->all.items = array_new(ranks * steps, sizeof *it->all.items);
    it->near.items = array_new(ranks * steps, sizeof *it->near.items);
    it->list = array_new(ranks > steps ? ranks : steps, sizeof *it->list);
    it->found.has = array_new(ranks, sizeof *it->found.has);
    if (!it->rows || !it->all.items || !it->near.items || !it->services || !it->joint || !it->list ||
        !it->found.has || partitions_init(&it->partitions, it->job, edges))
        return -1;
    fill_services(it);
    fill_rows(it);
    return 0;
}

static void search_release(struct late_search *it)
{
    partitions_release(&it->partitions);
    free(it->rows);
    free(it->services);
    free(it->joint);
    free(it->all.items);
    free(it->near.items);
    free(it->list);
    free(it->found.has);
    free(it->own.items);
    free(it->shorter.items);
}

int findings_take_late_notices(struct findings *findings, const struct job *job,
                               const struct baseline *baseline, const struct edges *edges,
                               struct transfer_excess *transfers, struct replay *replay,
                               const struct diagnose_options *options, struct error *error)
{
    struct late_search it = {.findings = findings,
                             .job = job,
                             .baseline = baseline,
                             .transfers = transfers,
                             .options = options,
                             .replay = replay};
    if (!job->services || job->step_count <= 0 || !replay || !baseline->median_step_ns)
        return 0;
    int failed = search_init(&it, edges) || take_all(&it);
    search_release(&it);
    return failed ? error_no_memory(error) : 0;
}
