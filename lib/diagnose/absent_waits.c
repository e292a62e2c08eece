/*
 * Measures a rank by the records of the other ranks: they waited for it in an operation, so it had computed
 * longer than its peers before that. Its own records are not used, so it needs no trace. The same measure of
 * ranks that have a trace shows how large it becomes by chance.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

static int has_no_trace(const struct job *job, int32_t rank)
{
    return job->ranks[rank].process_id < 0;
}

/* The number of a rank in each communicator; -1: it is not in it, or its members are not known. */

static void number_rank(const struct job *job, int32_t rank, int64_t *numbers)
{
    for (size_t i = 0; i < job->communicator_count; i++) {
        const struct job_communicator *communicator = &job->communicators[i];
        size_t recorded = communicator->member_list_count, next = 0;
        numbers[i] = -1;
        for (size_t k = 0; k < recorded; k++)
            if (communicator->member_list[k].rank == rank)
                numbers[i] = communicator->member_list[k].number;
        /* A size in a trace may be any number. */
        if (!has_no_trace(job, rank) || communicator->size > 2 * (int64_t)recorded)
            continue;
        for (int64_t place = 0; place < communicator->size; place++)
            if (next < recorded && communicator->member_list[next].number == place)
                next++;
            else if (job_rank_in(job, (int64_t)i, place) == rank)
                numbers[i] = place;
    }
}

static int is_pair(const struct job_instance *instance)
{
    return instance->function == FUNCTION_SEND || instance->function == FUNCTION_RECV;
}

/* Whether a rank takes part in an instance that some member cannot leave before it has begun. */
static int takes_part(const struct job_instance *instance, int32_t rank, const int64_t *numbers)
{
    if (is_pair(instance))
        return instance->sender != instance->receiver &&
               (instance->sender == rank || instance->receiver == rank);
    return numbers[instance->communicator] >= 0 &&
           (function_is_full_exchange(instance->function) || function_has_root(instance->function));
}

/* From the last start of the members but `rank` to their last end, by aligned clocks; TIME_UNKNOWN. */
static int64_t time_to_last_end(const struct job *job, const struct job_instance *instance, int32_t rank)
{
    int64_t start_ns = INT64_MIN, end_ns = INT64_MIN;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        int64_t began_ns = job_rough_time(job, member, member->start_ns),
                ended_ns = job_rough_time(job, member, member->end_ns);
        if (member->rank == rank)
            continue;
        if (began_ns == TIME_UNKNOWN || ended_ns == TIME_UNKNOWN)
            return TIME_UNKNOWN;
        start_ns = began_ns > start_ns ? began_ns : start_ns;
        end_ns = ended_ns > end_ns ? ended_ns : end_ns;
    }
    return end_ns == INT64_MIN ? TIME_UNKNOWN : end_ns > start_ns ? end_ns - start_ns : 0;
}

/*
 * How long the last of the members but `rank` to begin stayed: the shortest stay, or until all had left where
 * they leave one by one; TIME_UNKNOWN if that of one is not known.
 */
static int64_t stay_of_others(const struct job *job, const struct job_instance *instance, int32_t rank)
{
    int64_t least_ns = INT64_MAX;
    if (function_has_root(instance->function))
        return time_to_last_end(job, instance, rank);
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        if (member->rank == rank)
            continue;
        int64_t stay_ns = job_duration(member);
        if (stay_ns == TIME_UNKNOWN)
            return TIME_UNKNOWN;
        least_ns = stay_ns < least_ns ? stay_ns : least_ns;
    }
    return least_ns == INT64_MAX ? TIME_UNKNOWN : least_ns;
}

/*
 * Whether all members with a trace have a record, and times of their own: those of a group call share a
 * kernel, which also waits for other ranks.
 */
static int is_whole(const struct job *job, const struct job_instance *instance)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (absent_call_has_partners(job, job_member_at(job, instance, i)))
            return 0;
    return is_pair(instance) ||
           (size_t)instance->members == job->communicators[instance->communicator].member_list_count;
}

/*
 * When the members left, the last of them, by the records of others if there are any; TIME_UNKNOWN. They may
 * leave one after the other, where links differ, so when the rank left is uncertain by as much as they
 * differ.
 */
static void set_end(const struct job *job, const struct job_instance *instance, int32_t rank,
                    struct absent_wait *wait)
{
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN, own_ns = TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        int64_t at_ns = job_rough_time(job, member, member->end_ns);
        if (member->rank == rank)
            own_ns = at_ns;
        else if (at_ns != TIME_UNKNOWN) {
            first_ns = at_ns < first_ns ? at_ns : first_ns;
            last_ns = at_ns > last_ns ? at_ns : last_ns;
        }
    }
    wait->end_ns = last_ns == INT64_MIN ? own_ns : last_ns;
    wait->doubt_ns = last_ns > first_ns && !function_has_root(instance->function) ? last_ns - first_ns : 0;
}

/* As many earlier operations of a rank are looked at for the one that ended last. */
enum { LOOK_BACK = 16 };

/* The time from the end of the operations before one to its end; TIME_UNKNOWN. */
static int64_t interval_of(const struct job *job, const struct job_operation *operation)
{
    size_t at = (size_t)(operation - job->operations), first = job->ranks[operation->rank].first;
    int64_t before_ns = TIME_UNKNOWN;
    for (size_t i = at; i > first && at - i < LOOK_BACK; i--) {
        int64_t end_ns = job->operations[i - 1].end_ns;
        before_ns =
            end_ns != TIME_UNKNOWN && (before_ns == TIME_UNKNOWN || end_ns > before_ns) ? end_ns : before_ns;
    }
    if (before_ns == TIME_UNKNOWN || operation->end_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    return operation->end_ns > before_ns ? operation->end_ns - before_ns : 0;
}

/*
 * What operations at the same place took, and how long after the previous operation those who stand where the
 * rank does left it.
 */
struct usual {
    int64_t transfer_ns[MOST_SISTERS];
    int64_t wire_ns[MOST_SISTERS];
    int64_t interval_ns[MOST_SISTERS];
    const struct job_instance *sisters[MOST_SISTERS];
    size_t transfers;
    size_t intervals;
    size_t count;
};

/* The member of a sister instance that stands where `rank` stands in its own. */
static const struct job_operation *twin_in(const struct job *job, const struct job_instance *sister,
                                           const struct job_operation *beside, int64_t number)
{
    int32_t wanted = is_pair(sister) ? -1 : job_rank_in(job, sister->communicator, number);
    for (int32_t i = 0; i < sister->members; i++) {
        const struct job_operation *member = job_member(job, sister, i);
        if (is_pair(sister) ? member->rank != beside->rank : member->rank == wanted)
            return member;
    }
    return NULL;
}

static int is_listed(const struct usual *usual, const struct job_instance *sister)
{
    for (size_t i = 0; i < usual->count; i++)
        if (usual->sisters[i] == sister)
            return 1;
    return 0;
}

/* Of a pair, what its other side took; of a collective, the shortest duration. */
static void add_sister(struct usual *usual, const struct job *job, const struct job_instance *sister,
                       const struct job_operation *beside, const struct job_operation *twin)
{
    int64_t wire_ns = stay_of_others(job, sister, -1);
    int64_t took_ns = is_pair(sister) ? job_duration(beside) : wire_ns;
    int64_t interval_ns = interval_of(job, twin);
    usual->sisters[usual->count++] = sister;
    if (wire_ns != TIME_UNKNOWN && is_whole(job, sister)) {
        usual->wire_ns[usual->transfers] = wire_ns;
        usual->transfer_ns[usual->transfers++] = took_ns;
    }
    if (interval_ns != TIME_UNKNOWN)
        usual->interval_ns[usual->intervals++] = interval_ns;
}

/* The sisters of an instance: those of other ranks at the same place of the same step, all of it recorded. */
static void read_sisters(struct usual *usual, const struct absent_waits *waits,
                         const struct job_instance *instance, const struct job_operation *beside)
{
    const struct job *job = waits->job;
    const struct baseline *baseline = waits->baseline;
    int32_t role = baseline->role_of_rank[beside->rank],
            position = baseline->positions[beside - job->operations];
    if (role < 0 || position < 0)
        return;
    for (size_t i = 0; i < baseline->roles[role].rank_count && usual->count < MOST_SISTERS; i++) {
        int32_t at = baseline_cell(baseline, role, position, i, instance->step);
        const struct job_instance *sister = at < 0 || job->operations[at].instance < 0
                                                ? instance
                                                : &job->instances[job->operations[at].instance];
        if (sister == instance || is_listed(usual, sister) || sister->members != sister->expected ||
            takes_part(sister, waits->rank, waits->numbers) ||
            job->communicators[sister->communicator].size != job->communicators[instance->communicator].size)
            continue;
        const struct job_operation *twin =
            twin_in(job, sister, &job->operations[at], waits->numbers[instance->communicator]);
        if (twin)
            add_sister(usual, job, sister, &job->operations[at], twin);
    }
}

/* What the other members of an instance computed before it: the median; 0: not known. */
static int64_t own_of_members(const struct absent_waits *waits, const struct job_instance *instance)
{
    int64_t own_ns[MOST_SISTERS];
    size_t count = 0;
    for (int32_t i = 0; i < instance->members && count < MOST_SISTERS; i++) {
        const struct job_operation *member = job_member(waits->job, instance, i);
        if (member->rank != waits->rank && member->own_ns != TIME_UNKNOWN)
            own_ns[count++] = member->own_ns;
    }
    return count ? pick_quantile(own_ns, count, 0.5) : 0;
}

/* Whether the members with a trace, `rank` aside, play one role: the design of a job explains a late role. */
static int is_alike(const struct absent_waits *waits, const struct job_instance *instance)
{
    int32_t role = -1;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t rank = job_member(waits->job, instance, i)->rank;
        int32_t other = waits->baseline->role_of_rank[rank];
        if (rank == waits->rank)
            continue;
        if (other < 0 || (role >= 0 && role != other))
            return 0;
        role = other;
    }
    return role >= 0 && instance->members > 1;
}

/* In a tree, data arrives only after ranks below sent theirs, so not everywhere at one pace. */
static struct stillness stillness_in(const struct absent_waits *waits, const struct job_instance *instance)
{
    const struct job_operation *first = job_member(waits->job, instance, 0);
    const struct stillness none = {.at_any_ns = INT64_MAX};
    return is_pair(instance) || function_has_root(instance->function) || first->is_tree || first->may_be_tree
               ? none
               : stillness_of(waits->job, instance, waits->numbers[instance->communicator]);
}

/*
 * How long the others waited. Network steps tell when the first data of the rank arrived; else the operation
 * is compared with its sisters. Of a rank with a trace, it is known.
 */
static void measure_wait(const struct absent_waits *waits, const struct job_instance *instance,
                         struct absent_wait *wait)
{
    struct usual usual = {.transfers = 0};
    struct stillness still = {.at_any_ns = INT64_MAX};
    size_t is_recorded = !has_no_trace(waits->job, waits->rank);
    for (int32_t i = 0; i < instance->members && !usual.transfers; i++) {
        const struct job_operation *beside = job_member(waits->job, instance, i);
        if (beside->rank != waits->rank)
            read_sisters(&usual, waits, instance, beside);
    }
    if (!is_recorded)
        still = stillness_in(waits, instance);
    if (still.at_any_ns != INT64_MAX && is_alike(waits, instance)) {
        int64_t wait_ns = stillness_wait_ns(&still);
        wait->transfer_ns = wait->stay_ns - (wait_ns < wait->stay_ns ? wait_ns : wait->stay_ns);
        wait->pace_ns = still.pace_ns;
        wait->unclear_ns = still.unusual_ns > wait_ns ? still.unusual_ns - wait_ns : 0;
    } else if (usual.transfers + is_recorded >= FEWEST_SISTERS &&
               !(is_recorded && instance->members < instance->expected))
        wait->transfer_ns = pick_quantile(usual.transfer_ns, usual.transfers, 0.5);
    else if (is_recorded)
        wait->transfer_ns = function_has_root(instance->function) ? stay_of_others(waits->job, instance, -1)
                                                                  : instance->transfer_ns;
    wait->wire_ns = usual.transfers ? pick_quantile(usual.wire_ns, usual.transfers, 0.5) : wait->transfer_ns;
    if (usual.intervals)
        wait->usual_ns = pick_quantile(usual.interval_ns, usual.intervals, 0.5);
    else if (wait->transfer_ns != TIME_UNKNOWN)
        wait->usual_ns = own_of_members(waits, instance) + wait->transfer_ns;
}

/* Whether an instance is part of a call that absent_calls.c measures: of a member other than `rank`. */
static int is_of_call(const struct absent_waits *waits, const struct job_instance *instance)
{
    for (int32_t i = 0; is_pair(instance) && i < instance->members; i++)
        if (job_member(waits->job, instance, i)->rank != waits->rank &&
            absent_call_has_partners(waits->job, job_member_at(waits->job, instance, i)))
            return 1;
    return 0;
}

static int add_instance(struct absent_waits *waits, size_t number)
{
    const struct job_instance *instance = &waits->job->instances[number];
    struct absent_wait wait = {.instance = (int32_t)number, .transfer_ns = TIME_UNKNOWN};
    if (instance->step < waits->baseline->first_step || !instance->members ||
        !takes_part(instance, waits->rank, waits->numbers) || is_of_call(waits, instance))
        return 0;
    set_end(waits->job, instance, waits->rank, &wait);
    waits->has_no_times |= wait.end_ns == TIME_UNKNOWN;
    wait.stay_ns = stay_of_others(waits->job, instance, waits->rank);
    if (wait.stay_ns != TIME_UNKNOWN && is_whole(waits->job, instance))
        measure_wait(waits, instance, &wait);
    if (wait.stay_ns != TIME_UNKNOWN && wait.transfer_ns == TIME_UNKNOWN &&
        (!is_pair(instance) || instance->sender == waits->rank))
        wait.unclear_ns = wait.stay_ns;
    if (array_reserve((void **)&waits->items, &waits->capacity, waits->count + 1, sizeof *waits->items))
        return -1;
    waits->items[waits->count++] = wait;
    return 0;
}

/* A wait without sisters, and the place of the step that it is compared at. */
struct past {
    size_t wait;
    int64_t stay_ns;
    int64_t bytes;
    int32_t communicator;
    int32_t position; /* in the step, of the first other member */
};

static int by_place_and_stay(const void *left, const void *right)
{
    const struct past *a = left, *b = right;
    int order = compare_integers(a->communicator, b->communicator);
    order = order ? order : compare_integers(a->position, b->position);
    order = order ? order : compare_integers(a->bytes, b->bytes);
    order = order ? order : compare_integers(a->stay_ns, b->stay_ns);
    return order ? order : compare_integers((int64_t)a->wait, (int64_t)b->wait);
}

static int is_same_place(const struct past *a, const struct past *b)
{
    return a->communicator == b->communicator && a->position == b->position && a->bytes == b->bytes;
}

/*
 * Whether the stay of each other member is recorded, by its start or its duration: an assumed start may come
 * before the wait.
 */
static int are_stays_known(const struct absent_waits *waits, const struct job_instance *instance)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (job_member(waits->job, instance, i)->inferred && !job_member(waits->job, instance, i)->stamped)
            return 0;
    return 1;
}

/* The waits that only other steps can tell from transfers. Returns their number. */
static size_t list_past(const struct absent_waits *waits, struct past *list)
{
    const struct job *job = waits->job;
    size_t count = 0;
    for (size_t i = 0; i < waits->count; i++) {
        const struct absent_wait *wait = &waits->items[i];
        const struct job_instance *instance = &job->instances[wait->instance];
        int32_t at = job_member_at(job, instance, 0), position = waits->baseline->positions[at],
                role = waits->baseline->role_of_rank[job->operations[at].rank];
        if (wait->stay_ns != TIME_UNKNOWN && wait->transfer_ns == TIME_UNKNOWN && !is_pair(instance) &&
            position >= 0 && role >= 0 && is_whole(job, instance) && are_stays_known(waits, instance))
            list[count++] = (struct past){i, wait->stay_ns, job->operations[at].bytes, instance->communicator,
                                          position_in_step(&waits->baseline->roles[role], position)};
    }
    return count;
}

/* The waits of one place, the shortest first. In quiet steps, other work of the members hides no wait. */
static void compare_with_quiet(struct absent_waits *waits, const struct past *place, size_t count)
{
    size_t quiet = (count - 1) / 4 + 1, owns = 0;
    int64_t quiet_ns = place[quiet - 1].stay_ns, own_ns[MOST_SISTERS];
    for (size_t i = 0; i < quiet && owns < MOST_SISTERS; i++)
        own_ns[owns++] = own_of_members(waits, &waits->job->instances[waits->items[place[i].wait].instance]);
    int64_t usual_ns = pick_quantile(own_ns, owns, 0.5) + quiet_ns;
    for (size_t i = 0; i < count; i++) {
        struct absent_wait *wait = &waits->items[place[i].wait];
        wait->transfer_ns = wait->wire_ns = quiet_ns;
        wait->usual_ns = usual_ns;
        wait->unclear_ns = quiet_ns < wait->stay_ns ? quiet_ns : wait->stay_ns;
        wait->is_by_past = 1;
    }
}

/*
 * Without sisters, the quiet steps of the same place, its lowest quarter, tell how long a transfer takes.
 * What happens in all steps remains unknown. Returns -1 when memory runs out.
 */
static int compare_with_past(struct absent_waits *waits)
{
    size_t steps = (size_t)(waits->baseline->step_count - waits->baseline->first_step);
    struct past *list = array_new(waits->count, sizeof *list);
    if (!list)
        return -1;
    size_t count = list_past(waits, list);
    array_sort(list, count, sizeof *list, by_place_and_stay);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && is_same_place(&list[i], &list[end]);)
            end++;
        if ((end - i) * 4 >= 3 * steps)
            compare_with_quiet(waits, &list[i], end - i);
    }
    free(list);
    return 0;
}

static int by_end(const void *left, const void *right)
{
    const struct absent_wait *a = left, *b = right;
    int order = compare_integers(a->end_ns, b->end_ns);
    return order ? order : compare_integers(a->instance, b->instance);
}

/*
 * The rank left each operation with the others. If it took longer than its peers from the previous one to
 * this one, that is its own and not inherited. It takes a common time for all of its operations.
 */
static void measure_excess(struct absent_waits *waits)
{
    int64_t previous_ns = TIME_UNKNOWN;
    for (size_t i = 0; i < waits->count; i++) {
        struct absent_wait *wait = &waits->items[i];
        int64_t waited_ns = wait->transfer_ns == TIME_UNKNOWN ? 0 : wait->stay_ns - wait->transfer_ns;
        if (waited_ns > 0 && !waits->has_no_times && previous_ns != TIME_UNKNOWN) {
            int64_t more_ns = wait->end_ns - previous_ns - wait->usual_ns;
            wait->excess_ns = more_ns < 0 ? 0 : more_ns < waited_ns ? more_ns : waited_ns;
        } else if (waited_ns > 0 && waits->has_no_times)
            wait->unclear_ns += waited_ns;
        previous_ns = wait->end_ns == TIME_UNKNOWN ? TIME_UNKNOWN : wait->end_ns + wait->doubt_ns;
    }
}

int absent_waits_init(struct absent_waits *waits, const struct job *job, const struct baseline *baseline,
                      const struct call_times *times, int32_t rank)
{
    *waits = (struct absent_waits){.job = job,
                                   .baseline = baseline,
                                   .times = times,
                                   .rank = rank,
                                   .numbers = array_new(job->communicator_count + 1, sizeof *waits->numbers)};
    if (!waits->numbers)
        return -1;
    number_rank(job, rank, waits->numbers);
    for (size_t i = 0; i < job->instance_count; i++)
        if (add_instance(waits, i))
            return -1;
    if (absent_calls_add(waits))
        return -1;
    if (has_no_trace(job, rank) && compare_with_past(waits))
        return -1;
    array_sort(waits->items, waits->count, sizeof *waits->items, by_end);
    measure_excess(waits);
    return 0;
}

void absent_waits_release(struct absent_waits *waits)
{
    free(waits->numbers);
    free(waits->items);
}

void absent_waits_sum(const struct absent_waits *waits, int by_past, double *row)
{
    const struct baseline *baseline = waits->baseline;
    for (int32_t step = 0; step < baseline->step_count; step++)
        row[step] = step < baseline->first_step ? NAN : 0;
    for (size_t i = 0; i < baseline->warm_up_count; i++)
        row[baseline->warm_up[i]] = NAN;
    for (size_t i = 0; i < waits->count; i++)
        if (by_past || !waits->items[i].is_by_past)
            row[waits->job->instances[waits->items[i].instance].step] += (double)waits->items[i].excess_ns;
}
