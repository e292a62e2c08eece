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

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Degrees of freedom of Student's t: as for network waits, the tail is heavy (slow_groups.c). */
static const double TAIL = 1;
/* Two kinds of hypothesis: late in a set of steps, late in all steps. */
enum { KINDS = 2 };
/*
 * Notices are compared by the logarithm of their mean in a step plus FLOOR_NS: what keeps the cores busy
 * multiplies them, and differences below FLOOR_NS mean nothing. In recorded jobs without contention, half of
 * the means are below 0.013 ms and 99 of 100 below 0.06 ms, which is 2.3 times SPREAD apart. Where those of
 * most ranks are greater than FLOOR_NS, they measure something else than waiting for a core.
 */
static const double FLOOR_NS = 100000, SPREAD = 0.15;
static const double NS_PER_MS = 1e6;
/*
 * A thread that gets too little time also takes longer to send what its GPU has produced, and to notice that
 * it has produced something, on all links of its rank: SendWait and SendGpuWait both grow. A slow network
 * makes the first grow, a slow GPU or another rank the second. Logarithms of ratios to the rank's median
 * step; those of steps without a fault differ by this much.
 */
static const double SERVICE_SPREAD = 0.5, SERVICE_TIMES = 2;
/* More groups at once than this cannot be told apart, and each takes two replays. */
enum { MOST_GROUPS = 12 };

/* Ranks of one host whose proxy threads were late in the same steps. */
struct late_ranks {
    unsigned char *has; /* owned: [rank] */
    size_t count;
    int32_t rank; /* the lowest of them */
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

struct late_search {
    struct findings *findings;
    const struct job *job;
    const struct baseline *baseline;
    struct transfer_excess *transfers;
    const struct diagnose_options *options;
    struct replay *replay;
    struct partitions partitions;
    double *rows; /* owned: [rank * steps + step], mean notice beyond that of the other ranks, in SPREAD_NS;
                     NAN: unknown, warm-up, or explained */
    double
        *services; /* owned: same index, growth of both services of the sends, in SERVICE_SPREAD; at least 0
                    */
    double *list;  /* owned: scratch, [rank] or [step] */
    struct late_ranks found;
    struct savings own;     /* by operation */
    struct savings shorter; /* by instance */
    struct slowness slowness;
};

static double *row_of(const struct late_search *it, size_t rank)
{
    return &it->rows[rank * (size_t)it->job->step_count];
}

static double mean_notice(const struct job *job, size_t rank, int32_t step)
{
    const struct job_service *service = &job->services[rank * (size_t)job->step_count + (size_t)step];
    return service->notices ? (double)service->notice_ns / (double)service->notices : NAN;
}

/* Sorts the means of all ranks in a step into `list`. Returns their number. */
static size_t sort_notices(const struct late_search *it, int32_t step)
{
    size_t count = 0;
    for (size_t rank = 0; rank < it->job->rank_count; rank++) {
        double mean_ns = mean_notice(it->job, rank, step);
        if (!isnan(mean_ns))
            it->list[count++] = mean_ns;
    }
    sort_reals(it->list, count);
    return count;
}

/*
 * Whether most notices of the job are prompt. Otherwise clocks or timers are too coarse to tell.
 */
static int are_prompt(const struct late_search *it)
{
    int32_t steps = 0, prompt = 0;
    for (int32_t step = it->baseline->first_step; step < it->job->step_count; step++) {
        size_t count = sort_notices(it, step);
        steps += count > 0;
        prompt += count > 0 && it->list[(count - 1) / 2] <= FLOOR_NS;
    }
    return prompt * 2 > steps;
}

/* The median over steps of the services of a rank: SendWait, or SendGpuWait. */
static double usual_service(const struct late_search *it, size_t rank, int of_produce)
{
    const struct job_service *services = &it->job->services[rank * (size_t)it->job->step_count];
    size_t count = 0;
    for (int32_t step = it->baseline->first_step; step < it->job->step_count; step++)
        it->list[count++] = (double)(of_produce ? services[step].produce_ns : services[step].send_ns);
    sort_reals(it->list, count);
    return count ? it->list[(count - 1) / 2] : 0;
}

static void fill_services(struct late_search *it)
{
    for (size_t rank = 0; rank < it->job->rank_count; rank++) {
        double sent_ns = usual_service(it, rank, 0), produced_ns = usual_service(it, rank, 1);
        for (int32_t step = it->baseline->first_step; step < it->job->step_count; step++) {
            size_t cell = rank * (size_t)it->job->step_count + (size_t)step;
            const struct job_service *service = &it->job->services[cell];
            double times = sent_ns > 0 && produced_ns > 0 ? fmin((double)service->send_ns / sent_ns,
                                                                 (double)service->produce_ns / produced_ns)
                                                          : 1;
            it->services[cell] = times > 1 ? log(times) / SERVICE_SPREAD : 0;
        }
    }
}

/* A rank is compared with the lower median of the others. */
static void fill_rows(struct late_search *it)
{
    int prompt = are_prompt(it);
    for (int32_t step = 0; step < it->job->step_count; step++) {
        size_t count = !prompt || step < it->baseline->first_step ? 0 : sort_notices(it, step);
        for (size_t rank = 0; rank < it->job->rank_count; rank++) {
            double mean_ns = mean_notice(it->job, rank, step);
            size_t middle = count < 2 ? 0 : (count - 2) / 2;
            double others_ns = count < 2                    ? NAN
                               : it->list[middle] < mean_ns ? it->list[middle]
                                                            : it->list[middle + 1];
            row_of(it, rank)[step] = log((mean_ns + FLOOR_NS) / (others_ns + FLOOR_NS)) / SPREAD +
                                     it->services[rank * (size_t)it->job->step_count + (size_t)step];
        }
    }
}

static double certainty_of(const struct late_search *it, int is_steady, const struct step_set *set)
{
    return set->score - (is_steady ? 0 : scan_sets(it->job->step_count)) -
           log((double)it->job->rank_count * KINDS);
}

static void keep_best(struct late_search *it, size_t rank, int is_steady, const struct step_set *set)
{
    double certainty = set->score > 0 ? certainty_of(it, is_steady, set) : 0;
    if (certainty <= it->found.certainty)
        return;
    it->found.certainty = certainty;
    it->found.steps = *set;
    it->found.is_steady = is_steady;
    it->found.rank = (int32_t)rank;
}

/* Whether both services of the sends of a rank took several times as long as usual. */
static int has_slow_services(const struct late_search *it, size_t rank, int32_t step)
{
    return it->services[rank * (size_t)it->job->step_count + (size_t)step] >=
           log(SERVICE_TIMES) / SERVICE_SPREAD;
}

/* How many known steps a row has, and how many of them are late by the limit, or slow in both services. */
struct late_steps {
    int32_t known;
    int32_t late;
};

static struct late_steps count_late(const struct late_search *it, size_t rank)
{
    const double *row = row_of(it, rank);
    struct late_steps steps = {0, 0};
    double least = log(1 + limit_of(LIMIT_SLICE) * NS_PER_MS / FLOOR_NS) / SPREAD;
    for (int32_t step = 0; step < it->job->step_count; step++) {
        steps.known += !isnan(row[step]);
        steps.late += row[step] >= least || (!isnan(row[step]) && has_slow_services(it, rank, step));
    }
    return steps;
}

/* Fewer late steps are no set (scan_row). */
enum { LEAST_STEPS = 3 };

/* Finds the rank that is most certainly late. -1 when memory runs out. */
static int find_best(struct late_search *it)
{
    const struct job *job = it->job;
    it->found.certainty = 0;
    for (size_t rank = 0; rank < job->rank_count; rank++) {
        const double *row = row_of(it, rank);
        struct step_set best,
            all = {.first = it->baseline->first_step, .last = job->step_count - 1, .period = 1};
        struct late_steps steps = count_late(it, rank);
        if (steps.late < LEAST_STEPS)
            continue;
        if (scan_row(row, job->step_numbers, job->step_count, TAIL, &best))
            return -1;
        keep_best(it, rank, 0, &best);
        if (steps.late * 4 >= steps.known * 3) {
            scan_set(row, TAIL, &all);
            keep_best(it, rank, 1, &all);
        }
    }
    return 0;
}

/* Adds the ranks of the same host that were late in the same steps. These pay no penalty for the steps again.
 */
static void gather(struct late_search *it)
{
    const struct partition *hosts = partitions_hosts(&it->partitions);
    int32_t best = it->found.rank;
    double score = 0;
    memset(it->found.has, 0, it->job->rank_count);
    it->found.count = 0;
    for (size_t i = hosts->first[hosts->unit_of[best]]; i < hosts->first[hosts->unit_of[best] + 1]; i++) {
        int32_t rank = hosts->ranks[i];
        struct step_set set = it->found.steps;
        scan_set(row_of(it, (size_t)rank), TAIL, &set);
        if (rank != best && certainty_of(it, 1, &set) < limit_of(LIMIT_CERTAINTY))
            continue;
        score += set.score;
        it->found.has[rank] = 1;
        if (!it->found.count++ || rank < it->found.rank)
            it->found.rank = rank;
    }
    it->found.steps.score = score;
    it->found.certainty = certainty_of(it, it->found.is_steady, &it->found.steps);
}

/* A step that is later than the others by this many times SPREAD is late. */
enum { LEAST_SPREADS = 3 };

/* Whether a step beside the set is late for one of the ranks. */
static int goes_on(const struct late_search *it, int32_t step)
{
    int is_late = 0;
    for (size_t rank = 0; step >= 0 && step < it->job->step_count && rank < it->job->rank_count; rank++)
        is_late |= it->found.has[rank] && row_of(it, rank)[step] > LEAST_SPREADS;
    return is_late;
}

/* What keeps the cores busy begins and ends within a step: then its first and its last step are late by less.
 */
static void add_partial_steps(struct late_search *it)
{
    struct step_set *steps = &it->found.steps;
    if (it->found.is_steady || steps->period > 1)
        return;
    steps->first -= goes_on(it, steps->first - 1);
    steps->last += goes_on(it, steps->last + 1);
}

/* The mean notice of the ranks in their steps, or of the other ranks in these steps; in nanoseconds. */
static double notice_of(const struct late_search *it, int of_others)
{
    double notice_ns = 0, notices = 0;
    for (size_t rank = 0; rank < it->job->rank_count; rank++)
        for (int32_t step = it->found.steps.first; step <= it->found.steps.last; step++) {
            const struct job_service *service =
                &it->job->services[rank * (size_t)it->job->step_count + (size_t)step];
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

/* Transfer times of operations of one kind: communicator, function and size. */
struct kind_time {
    uint64_t kind;
    int64_t transfer_ns;
};

static int by_kind(const void *a, const void *b)
{
    const struct kind_time *left = a, *right = b;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return compare_integers(left->transfer_ns, right->transfer_ns);
}

static int is_kind_before(const void *item, const void *wanted)
{
    return ((const struct kind_time *)item)->kind < *(const uint64_t *)wanted;
}

static uint64_t kind_of(const struct job *job, const struct job_instance *instance)
{
    int64_t bytes = instance->members ? job_member(job, instance, 0)->bytes : 0;
    return hash_mix(hash_mix((uint64_t)instance->communicator, instance->function), (uint64_t)bytes);
}

/* Lists the transfer times outside the set of steps, sorted by kind. NULL when memory runs out. */
static struct kind_time *list_kinds(const struct late_search *it, size_t *count)
{
    const struct job *job = it->job;
    struct kind_time *list = array_new(job->instance_count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        if (instance->step >= it->baseline->first_step && instance->transfer_ns != TIME_UNKNOWN &&
            !step_set_has(&it->found.steps, instance->step))
            list[(*count)++] = (struct kind_time){kind_of(job, instance), instance->transfer_ns};
    }
    if (list)
        array_sort(list, *count, sizeof *list, by_kind);
    return list;
}

/* The median transfer time of a kind; TIME_UNKNOWN: there is none. */
static int64_t median_of_kind(const struct kind_time *list, size_t count, uint64_t kind)
{
    size_t first = lower_bound(list, count, sizeof *list, is_kind_before, &kind), end = first;
    while (end < count && list[end].kind == kind)
        end++;
    return end > first ? list[first + (end - first - 1) / 2].transfer_ns : TIME_UNKNOWN;
}

/*
 * By how much a transfer exceeds its baseline, or the same kind of operation in other steps if that is more:
 * the calls of a step may be in another order where a host is late, and then its places have no healthy
 * steps.
 */
static int64_t excess_of_transfer(const struct late_search *it, int32_t at, const struct kind_time *kinds,
                                  size_t kind_count)
{
    const struct job_instance *instance = &it->job->instances[at];
    int64_t beyond_ns = it->transfers[at].beyond_ns > 0 ? it->transfers[at].beyond_ns : 0;
    int64_t usual_ns = median_of_kind(kinds, kind_count, kind_of(it->job, instance));
    if (usual_ns != TIME_UNKNOWN && instance->transfer_ns - usual_ns > beyond_ns)
        beyond_ns = instance->transfer_ns - usual_ns;
    int64_t took_ns = instance->transfer_ns + it->transfers[at].some_ns;
    return beyond_ns < took_ns ? beyond_ns : took_ns;
}

/* Lists by how much the transfers that the ranks took part in were slow. -1 when memory runs out. */
static int cut_transfers(struct late_search *it)
{
    const struct job *job = it->job;
    size_t kind_count;
    struct kind_time *kinds = list_kinds(it, &kind_count);
    struct job_range instances = job_instances_in(job, it->found.steps.first, it->found.steps.last);
    int failed = !kinds;
    for (size_t i = instances.first; !failed && i < instances.end; i++) {
        int32_t at = job->by_step[i];
        const struct job_instance *instance = &job->instances[at];
        if (!step_set_has(&it->found.steps, instance->step) || instance->transfer_ns == TIME_UNKNOWN ||
            !has_member(it, instance))
            continue;
        int64_t slow_ns = excess_of_transfer(it, at, kinds, kind_count);
        if (slow_ns <= 0)
            continue;
        it->slowness.operations++;
        it->slowness.transfer_ns += instance->transfer_ns + it->transfers[at].some_ns;
        it->slowness.slow_ns += slow_ns;
        failed = add_saving(&it->shorter, at, slow_ns);
    }
    free(kinds);
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
    int64_t most_ns = lengthening.most_ns;
    finding->lost_ns = finding->lost_ns < most_ns ? finding->lost_ns : most_ns > 0 ? most_ns : 0;
    finding_ask(it->findings, finding, RULE_NOT_IN_STEPS_OF_LATE, lengthening_of_late(&lengthening, gain_ns));
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
                slow += has_slow_services(it, rank, step);
            }
    return slow * 2 > known &&
           log((notice_of(it, 0) + FLOOR_NS) / (notice_of(it, 1) + FLOOR_NS)) / SPREAD >= LEAST_SPREADS;
}

static void ask(const struct late_search *it, struct finding *finding)
{
    const struct findings *findings = it->findings;
    double certainty = it->found.certainty - log(job_selection_ratio(it->job));
    double worth =
        ratio_of(finding->lost_ns, it->baseline->median_step_ns) / step_set_count(&it->found.steps);
    worth = it->options->min_gain > 0 ? worth / it->options->min_gain : worth > 0 ? 2 : 0;
    finding_ask(findings, finding, RULE_NOTICES,
                is_shown_by_services(it) ? NOT_ASKED : (double)finding->notice_ns / NS_PER_MS);
    finding_ask(findings, finding, RULE_CERTAINTY, certainty);
    finding_ask(findings, finding, RULE_CERTAINTY_SURE, certainty);
    finding_ask(findings, finding, RULE_WORTH, worth);
    finding_ask(findings, finding, RULE_WORTH_SURE, worth);
    finding_ask(findings, finding, RULE_STEADY, it->found.is_steady ? 1 : NOT_ASKED);
    finding_ask_record(findings, finding, it->job, it->baseline);
}

static int append_evidence(struct late_search *it, struct finding *finding)
{
    struct buffer *text = &finding->evidence;
    int64_t others_ns = (int64_t)notice_of(it, 1);
    figures_add_time(&finding->figures, "notice_us_mean", finding->notice_ns);
    figures_add_time(&finding->figures, "notice_us_mean_others", others_ns);
    if (buffer_append_text(text, "NCCL's proxy threads noticed that a kernel had started or stopped ") ||
        text_time(text, finding->notice_ns) || buffer_append_text(text, " late on average (other ranks ") ||
        text_time(text, others_ns) || buffer_append_text(text, "), also while nothing was sent"))
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
    finding->first_step = found->steps.first;
    finding->last_step = found->steps.last;
    finding->period = found->steps.period;
    finding->numbers = found->steps.numbers;
    finding->certainty = found->certainty;
    finding->notice_ns = (int64_t)notice_of(it, 0);
    finding->slow_ns = sum_of(&it->own) + sum_of(&it->shorter);
    return finding_take_ranks(finding, found->has, it->job->rank_count) || append_evidence(it, finding);
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

/* Adds the finding, or leaves the replay and the findings as they were. -1 when memory runs out. */
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
    return 0;
}

static int take_all(struct late_search *it)
{
    for (int i = 0; i < MOST_GROUPS; i++) {
        if (find_best(it))
            return -1;
        if (it->found.certainty < limit_of(LIMIT_CERTAINTY))
            return 0;
        gather(it);
        add_partial_steps(it);
        if (take(it))
            return -1;
        forget_found(it);
    }
    return 0;
}

static int search_init(struct late_search *it, const struct edges *edges)
{
    size_t ranks = it->job->rank_count, steps = (size_t)it->job->step_count;
    it->rows = array_new(ranks * steps, sizeof *it->rows);
    it->services = array_new(ranks * steps, sizeof *it->services);
    it->list = array_new(ranks > steps ? ranks : steps, sizeof *it->list);
    it->found.has = array_new(ranks, sizeof *it->found.has);
    if (!it->rows || !it->services || !it->list || !it->found.has ||
        partitions_init(&it->partitions, it->job, edges))
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
