/*
 * Gives times to operations of NVIDIA's Inspector whose record has a duration and the time of its dump, but
 * no kernel times. Needs streams and groups.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* The usual distance of dumps while a process is busy is this quantile: it is longer if nothing ended. */
static const double BUSY = 0.1;
/* A step must span this many dumps. Otherwise its operations share a stamp, and their gaps are not known. */
enum { DUMPS_OF_STEP = 4 };

static int64_t stamp_of(const struct job *job, size_t at)
{
    return job->drafts.stamps_ns ? job->drafts.stamps_ns[at] : TIME_UNKNOWN;
}

static int is_stamped(const struct job *job, size_t at)
{
    return job->operations[at].start_ns == TIME_UNKNOWN && stamp_of(job, at) != TIME_UNKNOWN &&
           job_draft_duration(job, at) != TIME_UNKNOWN;
}

/* Lists the distances between the dumps of a rank. Returns their number. */
static size_t list_distances(const struct job *job, const struct job_rank *rank, int64_t *distances)
{
    size_t count = 0;
    int64_t last_ns = TIME_UNKNOWN;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        int64_t stamp_ns = stamp_of(job, i);
        if (stamp_ns == TIME_UNKNOWN)
            continue;
        if (last_ns != TIME_UNKNOWN && stamp_ns - last_ns > JOB_ONE_DUMP_NS)
            distances[count++] = stamp_ns - last_ns;
        if (last_ns == TIME_UNKNOWN || stamp_ns > last_ns)
            last_ns = stamp_ns;
    }
    return count;
}

/* The mean length of a rank's steps by its stamps; 0: unknown. */
static double step_length(const struct job *job, const struct job_rank *rank)
{
    int64_t first_ns = TIME_UNKNOWN, last_ns = TIME_UNKNOWN;
    int32_t first = -1, last = -1;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        int32_t step = job->operations[i].step;
        int64_t stamp_ns = stamp_of(job, i);
        if (stamp_ns == TIME_UNKNOWN || step < 0)
            continue;
        if (first < 0) {
            first = step;
            first_ns = stamp_ns;
        }
        last = step;
        last_ns = stamp_ns;
    }
    return last > first ? (double)(last_ns - first_ns) / (last - first) : 0;
}

/* The stamp of another member of a collective on the same host; TIME_UNKNOWN: there is none. */
static int64_t stamp_beside(const struct job *job, const struct job_rank *rank, size_t at)
{
    const struct job_instance *instance = &job->instances[job->operations[at].instance];
    if (!rank->facts.host || !function_is_full_exchange(instance->function))
        return TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        size_t other = (size_t)job_member_at(job, instance, i);
        const struct job_rank *of = &job->ranks[job->operations[other].rank];
        if (of != rank && of->facts.host && !strcmp(of->facts.host, rank->facts.host))
            return stamp_of(job, other);
    }
    return TIME_UNKNOWN;
}

/* The difference of the stamps of two members of a collective on one host, by what they called. */
struct difference {
    uint64_t call;
    int64_t ns;
};

static int by_call(const void *a, const void *b)
{
    const struct difference *one = a, *other = b;
    return one->call != other->call ? (one->call > other->call) - (one->call < other->call)
                                    : (one->ns > other->ns) - (one->ns < other->ns);
}

static size_t gather_differences(const struct job *job, const struct job_rank *rank,
                                 struct difference *differences)
{
    size_t count = 0;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t other_ns = stamp_of(job, i) == TIME_UNKNOWN ? TIME_UNKNOWN : stamp_beside(job, rank, i);
        if (other_ns == TIME_UNKNOWN)
            continue;
        uint64_t call = hash_mix((uint64_t)operation->communicator, operation->function);
        differences[count++] =
            (struct difference){hash_mix(call, (uint64_t)operation->bytes), stamp_of(job, i) - other_ns};
    }
    return count;
}

/*
 * Two members of a collective on one host end it at nearly the same time, and each is dumped at most one
 * interval later. Lists the differences of their stamps. Returns their number; -1: out of memory.
 *
 * A leaf of a tree ends earlier, by about the same each time. `by_usual` lists by how much the differences
 * differ from the usual one of the same call. That is too little if both dump at the same distance always.
 */
static int64_t list_differences(const struct job *job, const struct job_rank *rank, int by_usual,
                                int64_t *list)
{
    struct difference *differences = array_new(rank->count, sizeof *differences);
    size_t count = differences ? gather_differences(job, rank, differences) : 0;
    array_sort(differences, count, sizeof *differences, by_call);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && differences[end].call == differences[i].call; end++)
            ;
        int64_t usual_ns = by_usual ? differences[i + (end - i) / 2].ns : 0;
        for (size_t at = i; at < end; at++)
            list[at] = llabs(differences[at].ns - usual_ns);
    }
    free(differences);
    return differences ? (int64_t)count : -1;
}

/*
 * The differences of two evenly distributed times within an interval: two thirds of it is their quantile
 * NEARLY_ALL. If fewer than FEWEST are known, it tells nothing.
 */
static const double NEARLY_ALL = 0.89, PART_OF_INTERVAL = 2.0 / 3;
enum { FEWEST = 20 };

static int64_t dump_interval(const struct job *job, const struct job_rank *rank, int by_usual, int64_t *list)
{
    size_t count = list_distances(job, rank, list);
    int64_t interval_ns = count ? pick_quantile(list, count, BUSY) : 0;
    int64_t known = list_differences(job, rank, by_usual, list);
    if (known < FEWEST)
        return known < 0 ? -1 : interval_ns;
    int64_t by_members_ns =
        (int64_t)((double)pick_quantile(list, (size_t)known, NEARLY_ALL) / PART_OF_INTERVAL);
    return by_members_ns < interval_ns ? by_members_ns : interval_ns;
}

/* The dump interval of a rank, if it is short enough; 0: none. -1: out of memory. */
static int64_t short_interval(const struct job *job, const struct job_rank *rank, int64_t *list)
{
    double longest_ns = step_length(job, rank) / DUMPS_OF_STEP;
    int64_t interval_ns = dump_interval(job, rank, 0, list);
    if ((double)interval_ns > longest_ns)
        interval_ns = dump_interval(job, rank, 1, list);
    return (double)interval_ns > longest_ns ? 0 : interval_ns;
}

int job_measure_dumps(const struct job *job, struct job_rank *rank)
{
    rank->dump_interval_ns = 0;
    if (!job->drafts.stamps_ns)
        return 0;
    int64_t *list = array_new(rank->count, sizeof *list);
    int64_t interval_ns = list ? short_interval(job, rank, list) : -1;
    rank->dump_interval_ns = interval_ns < 0 ? 0 : interval_ns;
    free(list);
    return interval_ns < 0 ? -1 : 0;
}

int64_t job_stamped_end(const struct job *job, size_t at)
{
    return job->ranks[job->operations[at].rank].dump_interval_ns && is_stamped(job, at) ? stamp_of(job, at)
                                                                                        : TIME_UNKNOWN;
}

/*
 * The latest start of a group, whose kernel all its operations share: each ended before its stamp, and before
 * the next operation of the stream began. TIME_UNKNOWN if a time or a duration is missing.
 */
static int64_t latest_start(const struct job *job, size_t head, size_t end, int64_t next_ns)
{
    int64_t start_ns = TIME_UNKNOWN;
    for (size_t i = head; i < end; i++) {
        if (!is_stamped(job, i))
            return TIME_UNKNOWN;
        int64_t over_ns = stamp_of(job, i);
        over_ns = next_ns != TIME_UNKNOWN && next_ns < over_ns ? next_ns : over_ns;
        over_ns -= job_draft_duration(job, i);
        start_ns = start_ns == TIME_UNKNOWN || over_ns < start_ns ? over_ns : start_ns;
    }
    return start_ns;
}

static void put_start(struct job *job, size_t at, int64_t start_ns)
{
    struct job_operation *operation = &job->operations[at];
    operation->start_ns = start_ns;
    operation->end_ns = job->drafts.free_ns[at] = start_ns + job_draft_duration(job, at);
    operation->ends = ENDS_BY_HOST;
    operation->inferred = operation->stamped = 1;
}

/* The end of a group that begins at `head`. */
static size_t end_of_group(const struct job *job, const struct job_rank *rank, size_t head)
{
    size_t end = head + 1;
    while (end < rank->first + rank->count && job->operations[end].group == (int32_t)head)
        end++;
    return end;
}

/* Goes back over the groups of a rank. `next_ns` has one entry per operation of the job, for first ones. */
static void place_backwards(struct job *job, const struct job_rank *rank, int64_t *next_ns)
{
    for (size_t i = rank->first + rank->count; i-- > rank->first;) {
        const struct job_operation *first = &job->operations[i];
        if (first->group != (int32_t)i)
            continue;
        size_t end = end_of_group(job, rank, i);
        int64_t start_ns = latest_start(job, i, end, next_ns[i - rank->first]);
        for (size_t at = i; start_ns != TIME_UNKNOWN && at < end; at++)
            put_start(job, at, start_ns);
        if (first->previous < 0 || first->start_ns == TIME_UNKNOWN)
            continue;
        int64_t *before_ns = &next_ns[(size_t)job->operations[first->previous].group - rank->first];
        if (*before_ns == TIME_UNKNOWN || first->start_ns < *before_ns)
            *before_ns = first->start_ns;
    }
}

int job_place_by_stamps(struct job *job, const struct job_rank *rank)
{
    int64_t *next_ns = rank->dump_interval_ns ? array_new(rank->count, sizeof *next_ns) : NULL;
    for (size_t i = 0; next_ns && i < rank->count; i++)
        next_ns[i] = TIME_UNKNOWN;
    if (next_ns)
        place_backwards(job, rank, next_ns);
    free(next_ns);
    return next_ns || !rank->dump_interval_ns ? 0 : -1;
}

/* Moves a group to the end of what came before it on its stream, and to its enqueueing, if it is earlier. */
void job_delay_stamped(struct job *job, const struct job_rank *rank, size_t head)
{
    const struct job_operation *first = &job->operations[head];
    const struct job_operation *previous = first->previous < 0 ? NULL : &job->operations[first->previous];
    int64_t least_ns = first->enqueued_ns;
    if (previous && previous->end_ns > least_ns)
        least_ns = previous->end_ns;
    size_t end = end_of_group(job, rank, head);
    if (first->start_ns < least_ns)
        for (size_t i = head; i < end; i++)
            put_start(job, i, least_ns);
}

/* The median of the ranks' dump intervals, which one setting gives to all; 0: none is known. */
static int64_t usual_interval(const struct job *job, int64_t *list)
{
    size_t count = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].dump_interval_ns)
            list[count++] = job->ranks[i].dump_interval_ns;
    return count ? median_of(list, count) : 0;
}

/* The dumps of a rank, in the order of its operations. */
struct dumps {
    int64_t before_ns; /* the one before the last; TIME_UNKNOWN: there is none */
    int64_t last_ns;   /* TIME_UNKNOWN: there is none */
};

static void dumps_add(struct dumps *dumps, int64_t stamp_ns)
{
    if (dumps->last_ns != TIME_UNKNOWN && stamp_ns <= dumps->last_ns + JOB_ONE_DUMP_NS)
        return;
    dumps->before_ns = dumps->last_ns;
    dumps->last_ns = stamp_ns;
}

/*
 * When an operation was over at the earliest: after the dump before its own, and after the operation before
 * it on its stream, by its duration.
 */
static int64_t earliest_end(const struct job *job, size_t at, const struct dumps *dumps,
                            const int64_t *earliest_ns)
{
    int32_t previous = job->operations[at].previous;
    int64_t before_ns = previous < 0 ? TIME_UNKNOWN : earliest_ns[previous];
    int64_t over_ns = stamp_of(job, at) < dumps->last_ns ? TIME_UNKNOWN : dumps->before_ns;
    if (before_ns != TIME_UNKNOWN && before_ns + job_draft_duration(job, at) > over_ns)
        over_ns = before_ns + job_draft_duration(job, at);
    return over_ns;
}

/*
 * How much later than one interval after its end an operation was dumped, at least; -1: nothing shows it.
 * Only the next operation of its stream tells that it was over before the dump, if that began soon. If it
 * would have been over too early then, the two overlapped.
 */
static int64_t dump_lag(const struct job *job, size_t at, int64_t next_ns, int64_t earliest_ns,
                        int64_t interval_ns)
{
    int64_t stamp_ns = stamp_of(job, at), end_ns = job->operations[at].end_ns;
    if (!job->operations[at].stamped || next_ns == TIME_UNKNOWN || next_ns > stamp_ns + JOB_SLICE_NS ||
        earliest_ns == TIME_UNKNOWN || end_ns + JOB_PROMPT_NS < earliest_ns)
        return -1;
    return stamp_ns - interval_ns > end_ns ? stamp_ns - interval_ns - end_ns : 0;
}

/*
 * Recorders lose an operation here and there. If more than one in FEW_LOST_BETWEEN is lost, the next
 * operation of a stream in the trace often is not the one that came next, and a dump does not show that it
 * was late. Each lost operation makes one lag wrong.
 */
enum { FEW_LOST_BETWEEN = 100 };

static int has_many_lost(const struct job *job)
{
    int64_t lost = job->missing_sequence - job->left_out;
    return lost > (int64_t)(job->operation_count / FEW_LOST_BETWEEN);
}

int job_note_dump_lags(struct job *job)
{
    int64_t *next = job_next_starts(job), *list = array_new(job->rank_count, sizeof *list);
    int64_t *earliest_ns = array_new(job->operation_count, sizeof *earliest_ns);
    struct job_notice *notices = array_new(job->operation_count, sizeof *notices);
    int64_t interval_ns = list && !has_many_lost(job) ? usual_interval(job, list) : 0;
    struct dumps dumps = {TIME_UNKNOWN, TIME_UNKNOWN};
    int failed = !next || !list || !notices || !earliest_ns;
    for (size_t i = 0; !failed && i < job->operation_count; i++) {
        if (i == job->ranks[job->operations[i].rank].first)
            dumps = (struct dumps){TIME_UNKNOWN, TIME_UNKNOWN};
        if (stamp_of(job, i) != TIME_UNKNOWN)
            dumps_add(&dumps, stamp_of(job, i));
        earliest_ns[i] =
            job->operations[i].stamped ? earliest_end(job, i, &dumps, earliest_ns) : TIME_UNKNOWN;
        int64_t lag_ns = interval_ns ? dump_lag(job, i, next[i], earliest_ns[i], interval_ns) : -1;
        int64_t delay_ns = job_delay(job, &job->operations[i]);
        notices[i] = (struct job_notice){TIME_UNKNOWN, lag_ns < 0 ? TIME_UNKNOWN : delay_ns + lag_ns};
    }
    free(next);
    free(list);
    free(earliest_ns);
    if (failed) {
        free(notices);
        return -1;
    }
    job->drafts.notices = notices;
    return job_sum_notices(job);
}
