/*
 * Ranks without a trace that the other ranks wait for. All members that left a trace are early and wait
 * inside the operation, so durations do not show whether they wait or the transfer is slow. Where network
 * steps are recorded, they do: while members wait, no data arrives anywhere, and then it arrives at its pace.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

/* Of the steps of a fault, at least two in three show it: a step without it counts as two with it. */
enum { STEP_WITHOUT = 2 };

/* The ranks without a trace that a communicator has: `count` of struct absent.list, from `first` on. */
struct lacking {
    size_t first;
    size_t count;
    int is_known; /* 0: some are not known, or more are lacking than left a trace */
    int is_alike; /* at least two members left a trace, and all of these play the same role */
};

/*
 * What the members of a communicator waited for the ranks that it lacks, in one step. Where they started an
 * operation as soon as the one before it ended, they may have computed meanwhile, so that the wait did not
 * cost the job all of its time.
 */
struct wait {
    int64_t exposed_ns;    /* in operations before which they computed, ... */
    int64_t own_ns;        /* ... for this long */
    int64_t overlapped_ns; /* in the other operations, ... */
    int64_t interval_ns;   /* ... which the rank entered at this interval */
    int64_t spread_ns;     /* what they waited for each other */
    int64_t rest_ns;       /* what these operations took without the wait */
};

struct absent {
    const struct job *job;
    const struct baseline *baseline;
    struct lacking *lacking; /* owned, by communicator */
    int32_t *list;           /* owned: job ranks */
    size_t count;
    size_t capacity;
    struct wait *waits;  /* owned: [communicator * steps + step] */
    int64_t *hidden_ns;  /* owned, by rank: time in which waiting cannot be told from transfers */
    int64_t *scratch_ns; /* owned: one entry per step */
};

static int has_no_trace(const struct job *job, int32_t rank)
{
    return rank >= 0 && job->ranks[rank].process_id < 0;
}

static int add_absent(struct absent *absent, int32_t rank)
{
    if (array_reserve((void **)&absent->list, &absent->capacity, absent->count + 1, sizeof *absent->list))
        return -1;
    absent->list[absent->count++] = rank;
    return 0;
}

static int is_alike(const struct absent *absent, const struct job_communicator *communicator)
{
    const int32_t *role_of_rank = absent->baseline->role_of_rank;
    const struct communicator_set_member *members = communicator->member_list;
    for (size_t i = 0; i < communicator->member_list_count; i++)
        if (role_of_rank[members[i].rank] < 0 ||
            role_of_rank[members[i].rank] != role_of_rank[members[0].rank])
            return 0;
    return communicator->member_list_count > 1;
}

/* Lists the ranks that a communicator lacks. A size in a trace may be any number, so it is checked first. */
static int list_lacking(struct absent *absent, size_t number)
{
    const struct job_communicator *communicator = &absent->job->communicators[number];
    struct lacking *lacking = &absent->lacking[number];
    size_t recorded = communicator->member_list_count, next = 0;
    int64_t count = communicator->size - (int64_t)recorded;
    *lacking = (struct lacking){.first = absent->count};
    if (count <= 0 || count > (int64_t)recorded)
        return 0;
    lacking->is_known = 1;
    for (int64_t place = 0; place < communicator->size; place++) {
        if (next < recorded && communicator->member_list[next].number == place) {
            next++;
            continue;
        }
        int32_t rank = job_rank_in(absent->job, (int64_t)number, place);
        if (!has_no_trace(absent->job, rank))
            lacking->is_known = 0;
        else if (add_absent(absent, rank))
            return -1;
    }
    lacking->count = absent->count - lacking->first;
    lacking->is_alike = is_alike(absent, communicator);
    return 0;
}

static int absent_init(struct absent *absent, const struct job *job, const struct baseline *baseline)
{
    size_t steps = (size_t)baseline->step_count;
    *absent = (struct absent){.job = job, .baseline = baseline};
    absent->lacking = array_new(job->communicator_count, sizeof *absent->lacking);
    absent->waits = array_new(job->communicator_count * steps, sizeof *absent->waits);
    absent->hidden_ns = array_new(job->rank_count, sizeof *absent->hidden_ns);
    absent->scratch_ns = array_new(steps, sizeof *absent->scratch_ns);
    if (!absent->lacking || !absent->waits || !absent->hidden_ns || !absent->scratch_ns)
        return -1;
    for (size_t i = 0; i < job->communicator_count; i++)
        if (list_lacking(absent, i))
            return -1;
    return 0;
}

static void absent_release(struct absent *absent)
{
    free(absent->lacking);
    free(absent->list);
    free(absent->waits);
    free(absent->hidden_ns);
    free(absent->scratch_ns);
}

/* How much longer the last member to start would have waited if it had come with the one before it. */
static int64_t spread_of(const struct job *job, const struct job_instance *instance)
{
    int64_t least_ns = INT64_MAX, second_ns = INT64_MAX;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        int64_t took_ns = member->end_ns - member->start_ns;
        if (member->start_ns == TIME_UNKNOWN || member->end_ns == TIME_UNKNOWN)
            return 0;
        second_ns = took_ns < least_ns ? least_ns : took_ns < second_ns ? took_ns : second_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    return second_ns == INT64_MAX ? 0 : second_ns - least_ns;
}

/* The own time of the member that started last. */
static int64_t own_of_last(const struct job *job, const struct job_instance *instance)
{
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        if (member->end_ns - member->start_ns <= instance->transfer_ns && member->own_ns != TIME_UNKNOWN)
            return member->own_ns;
    }
    return 0;
}

/* A gap this many times shorter than the wait is that between two kernels, and no computation. */
enum { GAP_PART = 20 };

static void add_wait(struct wait *wait, const struct job *job, const struct job_instance *instance,
                     int64_t wait_ns)
{
    int64_t own_ns = own_of_last(job, instance);
    if (own_ns > wait_ns / GAP_PART) {
        wait->exposed_ns += wait_ns;
        wait->own_ns += own_ns;
    } else {
        wait->overlapped_ns += wait_ns;
        wait->interval_ns += instance->transfer_ns;
    }
}

static void hide(struct absent *absent, const struct job_instance *instance, int64_t time_ns)
{
    for (int32_t i = 0; i < instance->members; i++)
        absent->hidden_ns[job_member(absent->job, instance, i)->rank] += time_ns;
}

/*
 * Whether the network steps of a collective may show a wait. In a tree, data arrives only after ranks below
 * sent theirs, so it does not arrive everywhere at one pace.
 */
static int may_show_waits(const struct absent *absent, const struct job_instance *instance)
{
    const struct job_operation *first = job_member(absent->job, instance, 0);
    return absent->lacking[instance->communicator].is_known && !first->is_tree && !first->may_be_tree;
}

/* Where roles differ, the design of the job may make the others wait. */
static void add_collective(struct absent *absent, const struct job_instance *instance)
{
    const struct job *job = absent->job;
    struct wait *wait = &absent->waits[(size_t)instance->communicator * (size_t)absent->baseline->step_count +
                                       (size_t)instance->step];
    struct stillness still = {.at_any_ns = INT64_MAX};
    if (may_show_waits(absent, instance))
        still = stillness_of(job, instance);
    wait->spread_ns += spread_of(job, instance);
    if (still.at_any_ns == INT64_MAX) {
        hide(absent, instance, instance->transfer_ns);
        return;
    }
    int64_t wait_ns = absent->lacking[instance->communicator].is_alike ? stillness_wait_ns(&still) : 0;
    wait_ns = wait_ns < instance->transfer_ns ? wait_ns : instance->transfer_ns;
    add_wait(wait, job, instance, wait_ns);
    wait->rest_ns += instance->transfer_ns - wait_ns;
    if (still.unusual_ns > wait_ns)
        hide(absent, instance, still.unusual_ns - wait_ns);
}

/* Whether a receive waits for a sender without a trace. */
static int is_from_absent(const struct job *job, const struct job_instance *instance)
{
    return instance->function == FUNCTION_SEND && has_no_trace(job, instance->sender);
}

static void add_instance(struct absent *absent, const struct job_instance *instance)
{
    const struct job *job = absent->job;
    const struct job_communicator *communicator = &job->communicators[instance->communicator];
    if (instance->step < absent->baseline->first_step || !instance->members)
        return;
    const struct job_operation *first = job_member(job, instance, 0);
    if (is_from_absent(job, instance) && first->start_ns != TIME_UNKNOWN && first->end_ns != TIME_UNKNOWN)
        hide(absent, instance, first->end_ns - first->start_ns);
    if (communicator->size > (int64_t)communicator->member_list_count &&
        instance->transfer_ns != TIME_UNKNOWN &&
        (size_t)instance->members == communicator->member_list_count &&
        function_is_full_exchange(instance->function))
        add_collective(absent, instance);
}

/* The steps in which the members of a communicator waited for the ranks that it lacks. */
struct waited {
    size_t communicator;
    int32_t first;
    int32_t last;
    int32_t steps; /* those of them in which they did; 0: none */
    int64_t cost_ns;
    int64_t least_ns; /* what counts as waiting, in one step */
    double certainty;
};

/*
 * What waiting cost the job. Where the other ranks compute while they wait, their records do not show how
 * long they computed. There, the late rank is assumed to be slower by the same share as where waiting shows,
 * and that share of its time between operations counts, at most the wait.
 */
static int64_t cost_of(const struct wait *sum)
{
    double slower = ratio_of(sum->exposed_ns, sum->exposed_ns + sum->own_ns);
    int64_t more_ns = scale(sum->interval_ns, sum->exposed_ns ? slower : 1);
    return sum->exposed_ns + (more_ns < sum->overlapped_ns ? more_ns : sum->overlapped_ns);
}

static const struct wait *row_of(const struct absent *absent, size_t communicator)
{
    return absent->waits + communicator * (size_t)absent->baseline->step_count;
}

/* What the members of a communicator usually wait for each other in a step. */
static int64_t usual_spread_ns(const struct absent *absent, size_t communicator)
{
    const struct baseline *baseline = absent->baseline;
    size_t count = 0;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        absent->scratch_ns[count++] = row_of(absent, communicator)[step].spread_ns;
    return count ? median_of(absent->scratch_ns, count) : 0;
}

static int64_t wait_in(const struct wait *wait)
{
    return wait->exposed_ns + wait->overlapped_ns;
}

static int waits_in(const struct wait *wait, const struct waited *waited)
{
    return wait_in(wait) >= waited->least_ns;
}

/* Exponent of the tail of the distribution of waits. */
enum { TAIL = 2 };

static void sum_up(const struct wait *row, struct waited *waited)
{
    struct wait sum = {0};
    for (int32_t step = waited->first; step <= waited->last; step++)
        if (waits_in(&row[step], waited)) {
            waited->steps++;
            waited->certainty += TAIL * log(ratio_of(wait_in(&row[step]), waited->least_ns));
            sum.exposed_ns += row[step].exposed_ns;
            sum.own_ns += row[step].own_ns;
            sum.overlapped_ns += row[step].overlapped_ns;
            sum.interval_ns += row[step].interval_ns;
        }
    waited->cost_ns = cost_of(&sum);
}

/* Finds the steps that show the wait best: each with it counts 1, each without it -STEP_WITHOUT. */
static void find_steps(const struct baseline *baseline, const struct wait *row, struct waited *waited)
{
    int32_t best = 0, sum = 0, first = baseline->first_step;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        if (sum <= 0) {
            sum = 0;
            first = step;
        }
        sum += waits_in(&row[step], waited) ? 1 : -STEP_WITHOUT;
        if (sum > best) {
            best = sum;
            waited->first = first;
            waited->last = step;
        }
    }
    if (best)
        sum_up(row, waited);
}

/*
 * Of n ranks that do the same work each is as likely to start last. So it is by chance only once in (n / c)^k
 * that one of c ranks starts last in k steps. Longer waits are rarer, as in the tail of Student's t with two
 * degrees of freedom (score.h): twice the wait is a quarter as likely.
 */
static struct waited measure_waited(const struct absent *absent, size_t communicator,
                                    const struct diagnose_options *options)
{
    const struct baseline *baseline = absent->baseline;
    size_t lacking = absent->lacking[communicator].count,
           ranks = absent->job->communicators[communicator].member_list_count + lacking;
    int64_t spread_ns = usual_spread_ns(absent, communicator);
    struct waited waited = {.communicator = communicator,
                            .least_ns = scale(baseline->median_step_ns, options->min_gain)};
    waited.least_ns = waited.least_ns > spread_ns ? waited.least_ns : spread_ns;
    waited.least_ns = waited.least_ns > 0 ? waited.least_ns : 1;
    find_steps(baseline, row_of(absent, communicator), &waited);
    waited.certainty += waited.steps * log((double)ranks / (double)(lacking ? lacking : 1)) -
                        scan_sets(baseline->step_count) - log((double)absent->job->communicator_count);
    return waited;
}

/* Whether one wait says more than the other: it cost more, or half as much and has fewer candidates. */
static int is_more_telling(const struct absent *absent, const struct waited *one, const struct waited *other)
{
    if (!other->steps)
        return 1;
    size_t here = absent->lacking[one->communicator].count,
           there = absent->lacking[other->communicator].count;
    if (here != there && one->cost_ns >= other->cost_ns / 2 && other->cost_ns >= one->cost_ns / 2)
        return here < there;
    return one->cost_ns > other->cost_ns;
}

static struct waited most_telling(const struct absent *absent, const struct diagnose_options *options)
{
    struct waited best = {0};
    for (size_t i = 0; i < absent->job->communicator_count; i++) {
        struct waited waited = {0};
        if (absent->lacking[i].count && absent->lacking[i].is_known && absent->lacking[i].is_alike)
            waited = measure_waited(absent, i, options);
        if (waited.steps && waited.certainty >= limit_of(LIMIT_CERTAINTY) &&
            is_more_telling(absent, &waited, &best))
            best = waited;
    }
    return best;
}

/* The operations of a communicator in which its members waited, in the steps of a finding. */
struct waiting {
    int64_t operations;
    int64_t wait_ns;
    int64_t pace_ns;
    int32_t first; /* instance; -1: none */
};

static struct waiting count_waiting(const struct absent *absent, const struct waited *waited)
{
    const struct job *job = absent->job;
    struct waiting waiting = {.first = -1};
    struct job_range range = job_instances_in(job, waited->first, waited->last);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_instance *instance = &job->instances[job->by_step[i]];
        struct stillness still = {0};
        if (instance->communicator == (int32_t)waited->communicator && instance->members &&
            instance->transfer_ns != TIME_UNKNOWN && may_show_waits(absent, instance))
            still = stillness_of(job, instance);
        int64_t wait_ns = still.at_any_ns == INT64_MAX ? 0 : stillness_wait_ns(&still);
        if (!wait_ns)
            continue;
        waiting.first = waiting.first < 0 ? job->by_step[i] : waiting.first;
        waiting.operations++;
        waiting.wait_ns += wait_ns;
        waiting.pace_ns += still.pace_ns;
    }
    return waiting;
}

static int append_evidence(const struct absent *absent, const struct waited *waited, struct finding *finding)
{
    struct waiting waiting = count_waiting(absent, waited);
    struct buffer *text = &finding->evidence;
    int64_t count = waiting.operations ? waiting.operations : 1;
    finding->instance = waiting.first;
    figures_add(&finding->figures, "operations", (double)waiting.operations);
    figures_add_time(&finding->figures, "wait_us", waiting.wait_ns / count);
    figures_add_time(&finding->figures, "network_step_us", waiting.pace_ns / count);
    return buffer_printf(text,
                         "In %lld operations, all ranks with a trace had started, and no data arrived for ",
                         (long long)waiting.operations) ||
           text_time(text, waiting.wait_ns / count) ||
           buffer_append_text(text, " on average; then it arrived every ") ||
           text_time(text, waiting.pace_ns / count) ||
           buffer_append_text(text, ". Only the missing trace can show whether the GPU or the host is late");
}

static int name_ranks(const struct absent *absent, const struct waited *waited, struct finding *finding)
{
    const struct job_communicator *communicator = &absent->job->communicators[waited->communicator];
    const struct lacking *lacking = &absent->lacking[waited->communicator];
    finding->rank = absent->list[lacking->first];
    for (size_t i = 0; lacking->count > 1 && i < lacking->count; i++)
        if (finding_add_candidate(finding, absent->list[lacking->first + i]))
            return -1;
    for (size_t i = 0; i < communicator->member_list_count; i++)
        if (finding_add_peer(finding, communicator->member_list[i].rank))
            return -1;
    return 0;
}

/* Waits that are no finding remain undetermined. */
static void hide_waits(struct absent *absent)
{
    const struct job *job = absent->job;
    for (size_t i = 0; i < job->communicator_count; i++) {
        const struct job_communicator *communicator = &job->communicators[i];
        int64_t sum_ns = 0;
        for (int32_t step = absent->baseline->first_step; step < absent->baseline->step_count; step++)
            sum_ns += wait_in(&row_of(absent, i)[step]);
        for (size_t k = 0; k < communicator->member_list_count; k++)
            absent->hidden_ns[communicator->member_list[k].rank] += sum_ns;
    }
}

/* The median of what the operations took without the wait, in the steps of a wait or in all others; 0: none.
 */
static int64_t usual_rest_ns(const struct absent *absent, const struct waited *waited, int is_inside)
{
    const struct baseline *baseline = absent->baseline;
    size_t count = 0;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        if ((step >= waited->first && step <= waited->last) == is_inside)
            absent->scratch_ns[count++] = row_of(absent, waited->communicator)[step].rest_ns;
    return count ? median_of(absent->scratch_ns, count) : 0;
}

/*
 * Whether the transfers were slow as well. After a late start they take as long as ever, but not where a rank
 * that had started holds them up again and again.
 */
static int has_slow_transfers(const struct absent *absent, const struct waited *waited)
{
    int64_t others_ns = usual_rest_ns(absent, waited, 0);
    return others_ns > 0 &&
           ratio_of(usual_rest_ns(absent, waited, 1), others_ns) > limit_of(LIMIT_SLOWER_OPERATIONS);
}

/*
 * Whether another finding is in most of the same steps. Its rank may have held up the data after it had
 * started, when its host or its GPU was busy with other work.
 */
static int is_explained(const struct findings *findings, const struct waited *waited)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        int32_t shared = 0;
        for (int32_t step = waited->first; step <= waited->last; step++)
            shared += finding_has_step(finding, step);
        if (finding->confidence > CONFIDENCE_LOW && shared * 2 > waited->last - waited->first + 1)
            return 1;
    }
    return 0;
}

/* Adds the wait that cost the job most, if any is certain. */
static int take_waited(struct absent *absent, const struct diagnose_options *options,
                       struct findings *findings)
{
    struct waited waited = most_telling(absent, options);
    if (!waited.steps || has_slow_transfers(absent, &waited) || is_explained(findings, &waited)) {
        hide_waits(absent);
        return 0;
    }
    struct finding *finding = findings_add(findings);
    if (!finding)
        return -1;
    double worth = ratio_of(waited.cost_ns, absent->baseline->median_step_ns) / waited.steps;
    finding->kind = FINDING_LATE;
    finding->confidence = CONFIDENCE_HIGH;
    finding->tag = -1;
    finding->first_step = waited.first;
    finding->last_step = waited.last;
    finding->is_unrecorded = 1;
    finding->certainty = waited.certainty;
    finding->lost_ns = finding->slow_ns = waited.cost_ns;
    finding_ask(findings, finding, RULE_UNRECORDED, 1);
    finding_ask(findings, finding, RULE_CERTAINTY, waited.certainty);
    finding_ask(findings, finding, RULE_WORTH,
                options->min_gain > 0 ? worth / options->min_gain
                : worth > 0           ? 1
                                      : 0);
    return name_ranks(absent, &waited, finding) || append_evidence(absent, &waited, finding) ? -1 : 0;
}

/* The rank that spends most time in operations in which waiting cannot be told from transfers. */
static struct hidden_wait most_hidden(const struct absent *absent, const struct diagnose_options *options)
{
    const struct baseline *baseline = absent->baseline;
    struct hidden_wait most = {0};
    int64_t steps = baseline->step_count - baseline->first_step;
    for (size_t i = 0; steps > 0 && i < absent->job->rank_count; i++)
        if (absent->hidden_ns[i] / steps > most.step_ns)
            most = (struct hidden_wait){absent->hidden_ns[i] / steps, (int32_t)i};
    if (most.step_ns < scale(baseline->median_step_ns, options->min_gain))
        most.step_ns = 0;
    return most;
}

int findings_take_absent(struct findings *findings, const struct job *job, const struct baseline *baseline,
                         const struct diagnose_options *options, struct error *error)
{
    struct absent absent;
    if (!job_silent_ranks(job) || !baseline->median_step_ns || !baseline_is_regular(baseline))
        return 0;
    int failed = absent_init(&absent, job, baseline);
    for (size_t i = 0; !failed && i < job->instance_count; i++)
        add_instance(&absent, &job->instances[i]);
    failed = failed || take_waited(&absent, options, findings);
    if (!failed)
        findings->hidden_wait = most_hidden(&absent, options);
    absent_release(&absent);
    return failed ? error_no_memory(error) : 0;
}

/* At most this many ranks are named; more are counted. */
enum { RANKS_NAMED = 4 };

/* Appends "rank 15", "ranks 3, 7 and 15" or "the 12 ranks without a trace". */
static int name_silent(const struct job *job, struct buffer *text)
{
    size_t count = job_silent_ranks(job), named = 0;
    if (count > RANKS_NAMED)
        return buffer_printf(text, "the %zu ranks without a trace", count);
    for (size_t i = 0; i < job->rank_count; i++) {
        if (!has_no_trace(job, (int32_t)i))
            continue;
        const char *before = named == 0 ? count > 1 ? "ranks " : "rank " : named + 1 < count ? ", " : " and ";
        named++;
        if (buffer_printf(text, "%s%s", before, job->ranks[i].name))
            return -1;
    }
    return 0;
}

int hidden_wait_append_reason(const struct hidden_wait *hidden, const struct job *job, struct buffer *text)
{
    int is_one = job_silent_ranks(job) == 1;
    return buffer_append_text(text, "whether other ranks wait for ") || name_silent(job, text) ||
                   buffer_printf(text, " cannot be determined: %s left no trace, and rank %s spends ",
                                 is_one ? "it" : "they", job->ranks[hidden->rank].name) ||
                   text_time(text, hidden->step_ns) ||
                   buffer_printf(
                       text,
                       " per step on average in operations that need %s, where waiting cannot be told "
                       "from slow transfers",
                       is_one ? "it" : "them")
               ? -1
               : 0;
}

int hidden_wait_append_remedy(const struct job *job, struct buffer *text)
{
    return buffer_append_text(text,
                              job_silent_ranks(job) == 1 ? "add the trace of " : "add the traces of ") ||
                   name_silent(job, text)
               ? -1
               : 0;
}
