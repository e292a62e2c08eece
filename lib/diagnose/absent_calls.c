/*
 * How long other ranks waited for a rank without records in calls that send to and receive from several ranks
 * at once: a ring, or an exchange of all with all. One kernel serves the whole call, so its times do not tell
 * which of the other ranks it waited for. But all that it exchanges with take part in the same call of the
 * rank: each of them waited for it at least as long as the one that waited least, once all others had begun.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* A call of a partner, another rank that exchanges with the rank in it. */
struct partner_call {
    int32_t communicator;
    int32_t step;
    int32_t partner;
    int32_t number; /* of the calls of this partner with the rank in this step */
    int32_t call;   /* its first operation */
    int32_t at;     /* its first operation with the rank */
};

static int by_partner(const void *left, const void *right)
{
    const struct partner_call *a = left, *b = right;
    int order = compare_integers(a->communicator, b->communicator);
    order = order ? order : compare_integers(a->step, b->step);
    order = order ? order : compare_integers(a->partner, b->partner);
    return order ? order : compare_integers(a->at, b->at);
}

static int by_number(const void *left, const void *right)
{
    const struct partner_call *a = left, *b = right;
    int order = compare_integers(a->communicator, b->communicator);
    order = order ? order : compare_integers(a->step, b->step);
    order = order ? order : compare_integers(a->number, b->number);
    return order ? order : compare_integers(a->partner, b->partner);
}

/* Keeps one operation of each call, in order, and numbers them. Returns their number. */
static size_t number_calls(struct partner_call *calls, size_t count)
{
    size_t kept = 0;
    array_sort(calls, count, sizeof *calls, by_partner);
    for (size_t i = 0; i < count; i++) {
        const struct partner_call *last = kept ? &calls[kept - 1] : NULL;
        int is_same = last && last->communicator == calls[i].communicator && last->step == calls[i].step &&
                      last->partner == calls[i].partner;
        int32_t number = is_same ? last->number + 1 : 0;
        if (is_same && last->call == calls[i].call)
            continue;
        calls[kept] = calls[i];
        calls[kept++].number = number;
    }
    array_sort(calls, kept, sizeof *calls, by_number);
    return kept;
}

/* The other side of a send or receive; -1. */
static int32_t partner_in(const struct job *job, const struct job_operation *operation)
{
    if (operation->instance < 0 || !function_is_point_to_point(operation->function))
        return -1;
    const struct job_instance *instance = &job->instances[operation->instance];
    return instance->sender == operation->rank ? instance->receiver : instance->sender;
}

int absent_call_has_partners(const struct job *job, int32_t at)
{
    int32_t group = job->operations[at].group, partner = -1;
    if (!job_is_grouped(job, at))
        return 0;
    for (size_t i = (size_t)group; i < job->operation_count && job->operations[i].group == group; i++) {
        int32_t other = partner_in(job, &job->operations[i]);
        if (other < 0 || (partner >= 0 && partner != other))
            return 1;
        partner = other;
    }
    return 0;
}

/* Lists the calls of others that exchange with the rank. Returns their number. */
static size_t list_calls(const struct absent_waits *waits, struct partner_call *calls)
{
    const struct job *job = waits->job;
    size_t count = 0;
    for (size_t i = 0; i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        if (instance->step < waits->baseline->first_step || !function_is_point_to_point(instance->function) ||
            instance->sender == instance->receiver ||
            (instance->sender != waits->rank && instance->receiver != waits->rank))
            continue;
        for (int32_t k = 0; k < instance->members; k++) {
            int32_t at = job_member_at(job, instance, k);
            const struct job_operation *member = &job->operations[at];
            if (member->rank != waits->rank && absent_call_has_partners(job, at))
                calls[count++] = (struct partner_call){.communicator = instance->communicator,
                                                       .step = instance->step,
                                                       .partner = member->rank,
                                                       .call = member->group,
                                                       .at = at};
        }
    }
    return number_calls(calls, count);
}

/*
 * Sets when ranks left their calls: the stream was free for the next operation at the latest when that began.
 * The kernel of a call may stop before all of its data has arrived.
 */
static void fill_left(const struct job *job, int64_t *left_ns)
{
    for (size_t i = 0; i < job->operation_count; i++)
        left_ns[i] = job_is_grouped(job, (int32_t)i) ? TIME_UNKNOWN : job->operations[i].end_ns;
    for (size_t i = 0; i < job->operation_count; i++) {
        int32_t previous = job->operations[i].previous;
        if (previous < 0 || !job_is_grouped(job, previous))
            continue;
        int64_t *left = &left_ns[job->operations[previous].group];
        if (*left == TIME_UNKNOWN)
            *left = job->operations[i].start_ns;
    }
}

/* As many earlier calls of a rank are looked at for the one that it left last. */
enum { LOOK_BACK = 16 };

/* The time from when a rank left what it called before to when it left a call; TIME_UNKNOWN. */
static int64_t interval_of(const struct job *job, const int64_t *left_ns, size_t call)
{
    size_t first = job->ranks[job->operations[call].rank].first, at = call;
    int64_t before_ns = TIME_UNKNOWN;
    for (int i = 0; i < LOOK_BACK && at > first; i++) {
        at = (size_t)job->operations[at - 1].group;
        int64_t ns = left_ns[at];
        if (ns != TIME_UNKNOWN && ns < left_ns[call] && (before_ns == TIME_UNKNOWN || ns > before_ns))
            before_ns = ns;
    }
    return left_ns[call] == TIME_UNKNOWN || before_ns == TIME_UNKNOWN ? TIME_UNKNOWN
                                                                      : left_ns[call] - before_ns;
}

static void keep_latest(int64_t *latest_ns, int64_t at_ns)
{
    if (at_ns != TIME_UNKNOWN && (*latest_ns == TIME_UNKNOWN || at_ns > *latest_ns))
        *latest_ns = at_ns;
}

/*
 * When nothing kept a rank in an operation of a call any more: both sides had begun it, and its data had been
 * taken, where network steps tell. Returns whether that is known.
 */
static int raise_to_done(const struct job *job, const struct job_operation *operation, int64_t *latest_ns)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    for (int32_t k = 0; k < instance->members; k++) {
        const struct job_operation *member = job_member(job, instance, k);
        int64_t began_ns = job_rough_time(job, member, member->start_ns);
        if (began_ns == TIME_UNKNOWN)
            return 0;
        keep_latest(latest_ns, began_ns);
    }
    if (operation->ends == ENDS_BY_PROXY)
        keep_latest(latest_ns, job_rough_time(job, operation, operation->end_ns));
    return instance->members == instance->expected;
}

/*
 * How long a rank stayed in a call when nothing kept it there any more but `rank` and ranks without records;
 * TIME_UNKNOWN.
 */
static int64_t stay_in(const struct job *job, const int64_t *left_at_ns, size_t call, int32_t rank)
{
    const struct job_operation *first = &job->operations[call];
    int64_t done_ns = job_rough_time(job, first, first->start_ns),
            left_ns = job_rough_time(job, first, left_at_ns[call]);
    for (size_t i = call; i < job->operation_count && job->operations[i].group == (int32_t)call; i++) {
        int32_t other = partner_in(job, &job->operations[i]);
        if (other < 0)
            return TIME_UNKNOWN;
        if (other == rank || other == first->rank || job->ranks[other].process_id < 0)
            continue;
        if (!raise_to_done(job, &job->operations[i], &done_ns))
            return TIME_UNKNOWN;
    }
    if (done_ns == TIME_UNKNOWN || left_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    return left_ns > done_ns ? left_ns - done_ns : 0;
}

/* Whether all members of a communicator have a trace: then no rank waits for a rank without one. */
static int is_complete(const struct job *job, int32_t number)
{
    const struct job_communicator *communicator = &job->communicators[number];
    return communicator->size == (int64_t)communicator->member_list_count;
}

/*
 * What a call takes without waiting for the rank: what those of peers at the same place take. Of a rank with
 * a trace, it is known when that began: for lack of peers, or where they wait for another rank without one.
 */
static int compare_with_sisters(const struct absent_waits *waits, const struct partner_call *call,
                                struct absent_wait *wait)
{
    const struct baseline *baseline = waits->baseline;
    const struct job *job = waits->job;
    int64_t stays_ns[MOST_SISTERS], intervals_ns[MOST_SISTERS];
    int32_t role = baseline->role_of_rank[call->partner], position = baseline->positions[call->at];
    size_t stays = 0, intervals = 0;
    if (role < 0 || position < 0)
        return 0;
    for (size_t i = 0; i < baseline->roles[role].rank_count && stays < MOST_SISTERS; i++) {
        int32_t at = baseline_cell(baseline, role, position, i, call->step);
        if (at < 0 || !job_is_grouped(job, at) || waits->numbers[job->operations[at].communicator] >= 0)
            continue;
        int32_t sister = job->operations[at].group;
        int64_t stay_ns = waits->times->stay_ns[sister], interval_ns = waits->times->interval_ns[sister];
        if (stay_ns != TIME_UNKNOWN && is_complete(job, job->operations[at].communicator))
            stays_ns[stays++] = stay_ns;
        if (interval_ns != TIME_UNKNOWN && intervals < MOST_SISTERS)
            intervals_ns[intervals++] = interval_ns;
    }
    if (!intervals)
        return 0;
    int is_recorded = job->ranks[waits->rank].process_id >= 0;
    if (stays >= FEWEST_SISTERS && (!is_recorded || is_complete(job, call->communicator)))
        wait->transfer_ns = pick_quantile(stays_ns, stays, 0.5);
    else if (is_recorded)
        wait->transfer_ns = waits->times->stay_ns[call->call];
    if (wait->transfer_ns == TIME_UNKNOWN)
        return 0;
    wait->wire_ns = wait->transfer_ns;
    wait->usual_ns = pick_quantile(intervals_ns, intervals, 0.5);
    return 1;
}

static int add_wait(struct absent_waits *waits, const struct absent_wait *wait)
{
    if (array_reserve((void **)&waits->items, &waits->capacity, waits->count + 1, sizeof *waits->items))
        return -1;
    waits->items[waits->count++] = *wait;
    return 0;
}

static struct absent_wait wait_of(const struct absent_waits *waits, const struct partner_call *call)
{
    const struct job *job = waits->job;
    const int64_t *left_ns = waits->times->left_ns;
    return (struct absent_wait){.instance = job->operations[call->at].instance,
                                .transfer_ns = TIME_UNKNOWN,
                                .stay_ns = stay_in(job, left_ns, (size_t)call->call, waits->rank),
                                .end_ns =
                                    job_rough_time(job, &job->operations[call->call], left_ns[call->call])};
}

static int by_more(const void *left, const void *right)
{
    const struct absent_wait *a = left, *b = right;
    int order = compare_integers(a->stay_ns - a->transfer_ns, b->stay_ns - b->transfer_ns);
    return order ? order : compare_integers(a->instance, b->instance);
}

/*
 * Measures the calls of the partners, of at most MOST_SISTERS of them. What a partner did before its next
 * operation may be long as well, so that the median counts, the lower of two. Returns whether all could be
 * measured.
 */
static int measure_partners(const struct absent_waits *waits, const struct partner_call *calls, size_t count,
                            struct absent_wait *median)
{
    struct absent_wait list[MOST_SISTERS];
    size_t stride = (count + MOST_SISTERS - 1) / MOST_SISTERS, measured = 0;
    for (size_t i = 0; i < count; i += stride) {
        struct absent_wait *wait = &list[measured++];
        *wait = wait_of(waits, &calls[i]);
        if (wait->stay_ns == TIME_UNKNOWN || !compare_with_sisters(waits, &calls[i], wait))
            return 0;
    }
    array_sort(list, measured, sizeof *list, by_more);
    *median = list[(measured - 1) / 2];
    return 1;
}

/* Adds calls of the partners that are one call of the rank. Returns -1 when memory runs out. */
static int add_call(struct absent_waits *waits, const struct partner_call *calls, size_t count, int is_whole)
{
    struct absent_wait median;
    if (is_whole && measure_partners(waits, calls, count, &median)) {
        waits->has_calls = 1;
        return add_wait(waits, &median);
    }
    for (size_t i = 0; i < count; i++) {
        struct absent_wait wait = wait_of(waits, &calls[i]);
        int64_t stay_ns = job_duration(&waits->job->operations[calls[i].at]);
        wait.unclear_ns = stay_ns == TIME_UNKNOWN ? 0 : stay_ns;
        if (add_wait(waits, &wait))
            return -1;
    }
    return 0;
}

/* The calls with one number. */
static size_t end_of_number(const struct partner_call *calls, size_t count, size_t first)
{
    size_t end = first + 1;
    while (end < count && calls[end].communicator == calls[first].communicator &&
           calls[end].step == calls[first].step && calls[end].number == calls[first].number)
        end++;
    return end;
}

int absent_calls_add(struct absent_waits *waits)
{
    struct partner_call *calls = NULL;
    if (!waits->times->left_ns)
        return 0;
    if (!(calls = array_new(waits->job->operation_count, sizeof *calls)))
        return -1;
    size_t count = list_calls(waits, calls), partners = 0;
    int failed = 0;
    for (size_t i = 0, end; !failed && i < count; i = end) {
        end = end_of_number(calls, count, i);
        partners = calls[i].number ? partners : end - i;
        failed = add_call(waits, &calls[i], end - i, end - i == partners);
    }
    free(calls);
    return failed ? -1 : 0;
}

static int has_calls(const struct job *job)
{
    for (size_t i = 0; i < job->operation_count; i++)
        if (absent_call_has_partners(job, (int32_t)i))
            return 1;
    return 0;
}

int call_times_init(struct call_times *times, const struct job *job)
{
    *times = (struct call_times){0};
    if (!has_calls(job))
        return 0;
    times->left_ns = array_new(job->operation_count, sizeof *times->left_ns);
    times->stay_ns = array_new(job->operation_count, sizeof *times->stay_ns);
    times->interval_ns = array_new(job->operation_count, sizeof *times->interval_ns);
    if (!times->left_ns || !times->stay_ns || !times->interval_ns)
        return -1;
    fill_left(job, times->left_ns);
    for (size_t i = 0; i < job->operation_count; i++) {
        int is_first = job->operations[i].group == (int32_t)i && job_is_grouped(job, (int32_t)i);
        times->stay_ns[i] = is_first ? stay_in(job, times->left_ns, i, -1) : TIME_UNKNOWN;
        times->interval_ns[i] = is_first ? interval_of(job, times->left_ns, i) : TIME_UNKNOWN;
    }
    return 0;
}

void call_times_release(struct call_times *times)
{
    free(times->left_ns);
    free(times->stay_ns);
    free(times->interval_ns);
}
