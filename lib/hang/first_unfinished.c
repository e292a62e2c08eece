/*
 * Ranks that stopped in jobs whose trace has only finished operations (find_laggards): compares how far each
 * rank got, and what each would have done next.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "job/job.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * Where only finished operations are recorded, the trace of a stopped job shows how far each rank got. All
 * members of a full exchange have finished it if one has, so a member without a record of it lost that
 * record. Of the operations that were not finished, the others wait for the one that is usually finished
 * first. Of the ranks that did not finish that one, a rank that alone lost the end of its record is the one
 * that stopped.
 */

/* A point in what a rank does: the step and the position in it. */
struct progress {
    int32_t step;
    int32_t position;
};

struct stops {
    const struct job *job;
    const struct baseline *baseline;
    struct map finished;   /* (communicator, function) -> the last full exchange that any rank finished */
    int64_t *next_starts;  /* by operation, see job_next_starts */
    struct progress *next; /* by rank: the first position that it did not finish */
    unsigned char *lags;   /* by rank: others of its role got further */
    int32_t *listed;       /* ranks that lag and whose next operation is usually finished first */
    size_t count;
    /* The only rank that lost the end of its record, if nothing else is lost; -1: none */
    int32_t partial_record;
};

/* At most this many earlier steps are searched for what a rank usually does. */
enum { LOOK_BACK = 8 };

static int is_behind(struct progress a, struct progress b)
{
    return a.step < b.step || (a.step == b.step && a.position < b.position);
}

static struct progress after(struct progress at, const struct role *role)
{
    struct call_sequence_span call_sequence = role_sequence(role, at.position < 0 ? 0 : at.position);
    at.position++;
    return at.position < call_sequence.end ? at : (struct progress){at.step + 1, call_sequence.begin};
}

static struct progress last_recorded(const struct stops *stops, int32_t rank)
{
    const struct job *job = stops->job;
    struct progress last = {-1, -1};
    const struct job_rank *of = &job->ranks[rank];
    for (size_t i = of->first; i < of->first + of->count; i++) {
        struct progress here = {job->operations[i].step, stops->baseline->positions[i]};
        if (here.position >= 0 && is_behind(last, here))
            last = here;
    }
    return last;
}

static const struct job_operation *operation_at(const struct stops *stops, int32_t rank, int32_t position,
                                                int32_t step)
{
    const struct baseline *baseline = stops->baseline;
    int32_t cell = step < 0 || step >= baseline->step_count
                       ? -1
                       : baseline_cell(baseline, baseline->role_of_rank[rank], position,
                                       (size_t)baseline->rank_in_role[rank], step);
    return cell < 0 ? NULL : &stops->job->operations[cell];
}

/* What the rank did at this position in its latest earlier step; NULL: none. */
static const struct job_operation *usual_at(const struct stops *stops, int32_t rank, struct progress at)
{
    const struct job_operation *usual = NULL;
    for (int32_t back = 1; !usual && back <= LOOK_BACK; back++)
        usual = operation_at(stops, rank, at.position, at.step - back);
    return usual;
}

/* The sequence number expected at this position, extrapolated from earlier steps; -1: not known. */
static double expected_sequence(const struct stops *stops, struct progress at,
                                const struct job_operation *usual)
{
    double last = (double)job_sequence(stops->job, usual);
    for (int32_t step = usual->step - 1; step >= 0 && step >= at.step - LOOK_BACK; step--) {
        const struct job_operation *before = operation_at(stops, usual->rank, at.position, step);
        if (before && before->communicator == usual->communicator) {
            double each = (last - (double)job_sequence(stops->job, before)) / (usual->step - step);
            return last + each * (at.step - usual->step);
        }
    }
    return -1;
}

static struct map_key key_of(int32_t communicator, uint8_t function)
{
    return (struct map_key){{(uint64_t)communicator, function}};
}

/* Whether any rank finished the full exchange that this rank usually does at this position. */
static int is_finished(const struct stops *stops, int32_t rank, struct progress at)
{
    const struct job_operation *usual = usual_at(stops, rank, at);
    if (!usual || !function_is_full_exchange(usual->function))
        return 0;
    double expected = expected_sequence(stops, at, usual);
    const int64_t *last = map_get(&stops->finished, key_of(usual->communicator, usual->function));
    return last && expected >= 0 && (double)*last >= expected;
}

static struct progress find_next(const struct stops *stops, int32_t rank)
{
    struct progress last = last_recorded(stops, rank), at = last;
    const struct role *role = &stops->baseline->roles[stops->baseline->role_of_rank[rank]];
    for (int32_t i = 0; last.step >= 0 && i < role->length; i++) {
        at = after(at, role);
        if (is_finished(stops, rank, at))
            last = at;
    }
    return after(last, role);
}

/* Whether a rank is in a communicator. */
static int is_in(const struct job *job, int32_t rank, size_t communicator)
{
    const struct job_communicator *of = &job->communicators[communicator];
    for (size_t i = 0; i < of->member_list_count; i++)
        if (of->member_list[i].rank == rank)
            return 1;
    return 0;
}

static int is_last_finished(const struct stops *stops, const struct job_operation *operation)
{
    const int64_t *last = map_get(&stops->finished, key_of(operation->communicator, operation->function));
    return last && job_sequence(stops->job, operation) == *last;
}

/* Whether a rank recorded the last full exchange that its communicators finished, of each function. */
static int has_all_exchanges(const struct stops *stops, int32_t rank)
{
    const struct job *job = stops->job;
    const struct job_rank *of = &job->ranks[rank];
    size_t finished = 0, recorded = 0;
    for (size_t i = 0; i < job->communicator_count; i++) {
        if (!is_in(job, rank, i))
            continue;
        for (int function = 0; function < FUNCTION_COUNT; function++)
            finished += map_get(&stops->finished, key_of((int32_t)i, (uint8_t)function)) != NULL;
    }
    for (size_t i = of->first; i < of->first + of->count; i++)
        recorded += (size_t)is_last_finished(stops, &job->operations[i]);
    return recorded == finished;
}

/*
 * Whether the records of two ranks end with the same exchange, or with exchanges of the same kind and number
 * in groups of the same size, and the first rank lacks no exchange. Where earlier records are lost, its last
 * exchange is at another place among its operations.
 */
static int ends_like(const struct stops *stops, int32_t rank, int32_t other)
{
    const struct job_rank *of = &stops->job->ranks[rank];
    if (other < 0 || !of->count || !stops->job->ranks[other].count)
        return 0;
    const struct job_rank *beside = &stops->job->ranks[other];
    const struct job_operation *mine = &stops->job->operations[of->first + of->count - 1],
                               *theirs = &stops->job->operations[beside->first + beside->count - 1];
    const struct job_communicator *communicators = stops->job->communicators;
    return mine->function == theirs->function &&
           communicators[mine->communicator].size == communicators[theirs->communicator].size &&
           job_sequence(stops->job, mine) == job_sequence(stops->job, theirs) &&
           is_last_finished(stops, theirs) && has_all_exchanges(stops, rank);
}

/*
 * Where records are lost, all members of a pair may have lost the last one. A difference of two positions is
 * more than that.
 */
enum { PLACES = 1, PLACES_OF_LOST = 2 };

static void mark_laggards(struct stops *stops, const struct role *role)
{
    struct progress furthest = {-1, -1};
    int32_t furthest_rank = -1;
    int64_t least = stops->job->missing_sequence ? PLACES_OF_LOST : PLACES;
    for (size_t i = 0; i < role->rank_count; i++) {
        struct progress next = find_next(stops, role->ranks[i]);
        stops->next[role->ranks[i]] = next;
        if (is_behind(furthest, next)) {
            furthest = next;
            furthest_rank = role->ranks[i];
        }
    }
    for (size_t i = 0; i < role->rank_count; i++) {
        struct progress next = stops->next[role->ranks[i]];
        struct call_sequence_span call_sequence = role_sequence(role, next.position);
        int64_t places = (int64_t)(furthest.step - next.step) * (call_sequence.end - call_sequence.begin) +
                         position_in_step(role, furthest.position) - position_in_step(role, next.position);
        stops->lags[role->ranks[i]] = places >= least && !ends_like(stops, role->ranks[i], furthest_rank);
    }
}

/* When a rank finished, `back` steps earlier, what it does at its next position; TIME_UNKNOWN: not known. */
static int64_t done_before(const struct stops *stops, int32_t rank, int32_t back)
{
    struct progress next = stops->next[rank];
    const struct job_operation *operation = operation_at(stops, rank, next.position, next.step - back);
    if (!operation)
        return TIME_UNKNOWN;
    int64_t end_ns = operation->end_ns != TIME_UNKNOWN
                         ? operation->end_ns
                         : stops->next_starts[operation - stops->job->operations];
    return end_ns == TIME_UNKNOWN ? TIME_UNKNOWN : job_common_time(stops->job, operation, end_ns);
}

/* The communicator of the operation that a rank did not finish; -1: not known. */
static int32_t communicator_of_next(const struct stops *stops, int32_t rank)
{
    const struct job_operation *usual = usual_at(stops, rank, stops->next[rank]);
    return usual ? usual->communicator : -1;
}

/*
 * Whether the operation that one rank did not finish is usually finished after that of another, as far as the
 * clocks show.
 */
static int is_usually_later(const struct stops *stops, int32_t rank, int32_t than)
{
    int64_t later_ns[LOOK_BACK];
    size_t count = 0;
    if (communicator_of_next(stops, rank) == communicator_of_next(stops, than))
        return 0;
    for (int32_t back = 1; back <= LOOK_BACK; back++) {
        int64_t mine = done_before(stops, rank, back), others = done_before(stops, than, back);
        if (mine != TIME_UNKNOWN && others != TIME_UNKNOWN)
            later_ns[count++] = mine - others;
    }
    return count && median_of(later_ns, count) > job_clock_uncertainty(stops->job, rank, than);
}

/* Of a communicator: the ranks that lag, and those of them that stopped at the operation it does next. */
struct meeting {
    int32_t lagging;
    int32_t stopped;
    unsigned char is_later; /* its unfinished operations are later than the first of all */
};

enum standing {
    IS_CANDIDATE,
    IS_WAITING, /* it waits for another rank that stopped before it got there */
    IS_UNKNOWN  /* records are lost, so that a member may be elsewhere than it seems */
};

/* The point up to which other ranks finished with it what it has no record of. */
static struct progress last_finished(const struct stops *stops, int32_t rank)
{
    struct progress next = stops->next[rank];
    const struct role *role = &stops->baseline->roles[stops->baseline->role_of_rank[rank]];
    struct call_sequence_span call_sequence = role_sequence(role, next.position);
    return next.position > call_sequence.begin ? (struct progress){next.step, next.position - 1}
                                               : (struct progress){next.step - 1, call_sequence.end - 1};
}

/* The other end of the send or receive of a rank at a point; -1: none. */
static int32_t partner_at(const struct stops *stops, int32_t rank, struct progress at)
{
    const struct job_operation *usual = usual_at(stops, rank, at);
    const struct job_instance *instance = usual ? &stops->job->instances[usual->instance] : NULL;
    if (!usual || !function_is_point_to_point(usual->function))
        return -1;
    return instance->sender == rank ? instance->receiver : instance->sender;
}

/* The other end of the one that it did not finish. */
static int32_t partner_of(const struct stops *stops, int32_t rank)
{
    return partner_at(stops, rank, stops->next[rank]);
}

/*
 * The rank that it may wait for in the operation that it seems to have finished last; -1: none. Some
 * recorders record when the host was done with a send or receive; if the other end stopped in it, it is not
 * finished.
 */
static int32_t may_wait_for(const struct stops *stops, int32_t rank)
{
    struct progress last = last_finished(stops, rank);
    int32_t partner = partner_at(stops, rank, last);
    if (partner < 0 || partner_of(stops, partner) != rank)
        return -1;
    const struct job_operation *mine = usual_at(stops, rank, last);
    const struct job_operation *theirs = usual_at(stops, partner, stops->next[partner]);
    return mine->function != theirs->function ? partner : -1;
}

/* For a send or receive: whether the other end stopped at the same operation, or before it. */
static enum standing standing_in_pair(const struct stops *stops, int32_t rank, int32_t partner)
{
    const struct job_operation *mine = usual_at(stops, rank, stops->next[rank]);
    const struct job_operation *theirs = usual_at(stops, partner, stops->next[partner]);
    if (!theirs)
        return IS_UNKNOWN;
    /* The sends and receives of one group call may be listed in any order. */
    return theirs->communicator == mine->communicator && partner_of(stops, partner) == rank ? IS_CANDIDATE
                                                                                            : IS_WAITING;
}

static enum standing standing_of(const struct stops *stops, const struct meeting *meetings, int32_t rank)
{
    const struct job_operation *usual = usual_at(stops, rank, stops->next[rank]);
    int32_t partner = partner_of(stops, rank);
    if (partner >= 0 && !stops->job->missing_sequence)
        return standing_in_pair(stops, rank, partner);
    /* Of a Broadcast no other rank shows whether it was finished. */
    if (!usual || !function_is_full_exchange(usual->function))
        return stops->job->missing_sequence ? IS_UNKNOWN : IS_CANDIDATE;
    const struct meeting *meeting = &meetings[usual->communicator];
    if (meeting->lagging < stops->job->communicators[usual->communicator].size)
        return IS_UNKNOWN;
    return meeting->stopped == meeting->lagging ? IS_CANDIDATE : IS_WAITING;
}

static int32_t find_first(const struct stops *stops)
{
    int32_t first = -1;
    for (int32_t rank = 0; rank < (int32_t)stops->job->rank_count; rank++)
        if (stops->lags[rank] && (first < 0 || is_usually_later(stops, first, rank)))
            first = rank;
    return first;
}

static void count_meetings(const struct stops *stops, int32_t first, struct meeting *meetings)
{
    const struct job *job = stops->job;
    for (size_t i = 0; i < job->communicator_count; i++)
        for (size_t j = 0; j < job->communicators[i].member_list_count; j++)
            meetings[i].lagging += stops->lags[job->communicators[i].member_list[j].rank];
    for (int32_t rank = 0; rank < (int32_t)job->rank_count; rank++) {
        int32_t communicator = stops->lags[rank] ? communicator_of_next(stops, rank) : -1;
        if (communicator < 0)
            continue;
        meetings[communicator].stopped++;
        meetings[communicator].is_later |= is_usually_later(stops, rank, first) != 0;
    }
}

static void list(struct stops *stops, int32_t rank)
{
    for (size_t i = 0; i < stops->count; i++)
        if (stops->listed[i] == rank)
            return;
    stops->listed[stops->count++] = rank;
}

/* Lists none if the standing of one that may be the first is not known. */
static void list_first(struct stops *stops, struct meeting *meetings)
{
    count_meetings(stops, find_first(stops), meetings);
    for (int32_t rank = 0; rank < (int32_t)stops->job->rank_count; rank++) {
        int32_t communicator = stops->lags[rank] ? communicator_of_next(stops, rank) : -1;
        if (!stops->lags[rank] || (communicator >= 0 && meetings[communicator].is_later))
            continue;
        enum standing standing = standing_of(stops, meetings, rank);
        if (standing == IS_UNKNOWN) {
            stops->count = 0;
            return;
        }
        if (standing == IS_CANDIDATE)
            list(stops, rank);
        if (standing == IS_CANDIDATE && partner_of(stops, rank) >= 0)
            list(stops, partner_of(stops, rank));
    }
}

/* The only rank that lost the end of its record, if no other record is missing; -1: none. */
static int32_t find_partial_record(const struct stops *stops)
{
    int32_t partial_record = -1;
    for (size_t i = 0; !stops->job->missing_sequence && i < stops->baseline->role_count; i++) {
        const struct role *role = &stops->baseline->roles[i];
        for (size_t j = 0; j < role->rank_count; j++) {
            int32_t rank = role->ranks[j];
            if (!is_behind(last_recorded(stops, rank), last_finished(stops, rank)))
                continue;
            if (partial_record >= 0)
                return -1;
            partial_record = rank;
        }
    }
    return partial_record;
}

/*
 * If listed ranks may still be in a send or receive with another rank, lists only these pairs: one of the two
 * is at fault, and the other listed ranks wait for them.
 */
static void list_pairs(struct stops *stops)
{
    size_t count = stops->count;
    int is_first = 1;
    for (size_t i = 0; i < count; i++) {
        int32_t rank = stops->listed[i], partner = may_wait_for(stops, rank);
        if (partner < 0)
            continue;
        if (is_first)
            stops->count = 0;
        is_first = 0;
        list(stops, rank);
        list(stops, partner);
    }
}

/*
 * A recorder that loses nothing else writes finished operations within moments while its process lives. Of
 * the listed ranks, the one that lost the end of its record is the one that stopped, and the others wait for
 * it.
 */
static void list_partial_record(struct stops *stops)
{
    int32_t partial_record = find_partial_record(stops);
    stops->partial_record = -1;
    for (size_t i = 0; partial_record >= 0 && i < stops->count; i++)
        if (stops->listed[i] == partial_record)
            stops->partial_record = partial_record;
    if (stops->partial_record >= 0) {
        stops->listed[0] = partial_record;
        stops->count = 1;
    }
}

static int append_partial_record(const struct stops *stops, int32_t rank, struct buffer *evidence)
{
    struct progress last = last_finished(stops, rank);
    const struct job_operation *usual = usual_at(stops, rank, last);
    const char *name = usual ? function_name(usual->function) : NULL;
    const char *of = stops->job->ranks[rank].name;
    return buffer_append_text(evidence, name ? name : "An operation") ||
           (usual && text_on_communicator(evidence, &stops->job->communicators[usual->communicator])) ||
           buffer_printf(
               evidence,
               " in step %d was finished by the other ranks, so rank %s finished it, too. The record "
               "of rank %s ends before it, and no other record is missing",
               (int)job_run_step(stops->job, last.step), of, of);
}

static int append_lagging(const struct stops *stops, int32_t rank, struct finding *finding)
{
    struct buffer *evidence = &finding->evidence;
    struct progress next = stops->next[rank];
    const struct job_rank *of = &stops->job->ranks[rank];
    const struct role *role = &stops->baseline->roles[stops->baseline->role_of_rank[rank]];
    int32_t call = position_in_step(role, next.position) + 1;
    figures_add(&finding->figures, "call", call);
    figures_add(&finding->figures, "step", job_run_step(stops->job, next.step));
    const struct job_operation *usual = usual_at(stops, rank, next);
    const char *name = usual ? function_name(usual->function) : NULL;
    char step[32];
    snprintf(step, sizeof step, "step %d", (int)job_run_step(stops->job, next.step));
    return buffer_printf(evidence, "Rank %s finished nothing from ", of->name) ||
           text_place(evidence, call, step, name,
                      usual ? &stops->job->communicators[usual->communicator] : NULL) ||
           buffer_append_text(evidence, " on; other ranks with the same role did. ") ||
           finding_name_ranks(finding, stops->job, evidence) ||
           buffer_append_text(evidence, stops->job->blind_to_pairs
                                            ? " never started it, or waits for a send that is not recorded"
                                            : " never started it") ||
           buffer_append_text(evidence, "; a trace of finished operations does not show which");
}

/* All listed ranks become one finding. */
static int add(const struct stops *stops, struct findings *findings)
{
    int32_t rank = stops->listed[0];
    const struct job_operation *usual = usual_at(stops, rank, stops->next[rank]);
    struct finding *finding = findings_add(findings);
    if (!finding)
        return -1;
    int is_torn = rank == stops->partial_record;
    finding->kind = is_torn ? FINDING_ENDED_EARLY : FINDING_MISSING;
    finding->confidence = is_torn ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
    finding->stops_job = 1;
    finding->rank = rank;
    finding->tag = usual ? usual->tag : -1;
    finding->first_step = finding->last_step = stops->next[rank].step;
    for (size_t i = 0; stops->count > 1 && i < stops->count; i++)
        if (finding_add_candidate(finding, stops->listed[i]))
            return -1;
    finding->rank = stops->count > 1 ? finding->candidates[0] : rank;
    return is_torn ? append_partial_record(stops, rank, &finding->evidence)
                   : append_lagging(stops, rank, finding);
}

static int note_finished(struct stops *stops)
{
    for (size_t i = 0; i < stops->job->instance_count; i++) {
        const struct job_instance *instance = &stops->job->instances[i];
        if (!function_is_full_exchange(instance->function))
            continue;
        int64_t *last = map_put(&stops->finished, key_of(instance->communicator, instance->function),
                                instance->sequence, NULL);
        if (!last)
            return -1;
        *last = *last > instance->sequence ? *last : instance->sequence;
    }
    return 0;
}

static int find_stops(struct stops *stops)
{
    const struct job *job = stops->job;
    map_init(&stops->finished);
    stops->next_starts = job_next_starts(job);
    stops->next = array_new(job->rank_count, sizeof *stops->next);
    stops->lags = array_new(job->rank_count, sizeof *stops->lags);
    stops->listed = array_new(job->rank_count, sizeof *stops->listed);
    if (!stops->next_starts || !stops->next || !stops->lags || !stops->listed || note_finished(stops))
        return -1;
    for (size_t i = 0; i < stops->baseline->role_count; i++)
        mark_laggards(stops, &stops->baseline->roles[i]);
    struct meeting *meetings = array_new(job->communicator_count, sizeof *meetings);
    if (meetings) {
        list_first(stops, meetings);
        list_pairs(stops);
        list_partial_record(stops);
    }
    free(meetings);
    return meetings ? 0 : -1;
}

static void stops_release(struct stops *stops)
{
    map_release(&stops->finished);
    free(stops->next_starts);
    free(stops->next);
    free(stops->lags);
    free(stops->listed);
}

/*
 * More candidates than a quarter of the ranks (except a pair) are not reported: any job that is stopped at a
 * random moment leaves such a trace.
 */
enum { PART_NAMED = 4, PAIR = 2 };

static int can_be_told(const struct stops *stops)
{
    size_t ranks = job_recorded_ranks(stops->job);
    /* The rank that stopped may wait for an unrecorded send of a rank without any record. */
    if (stops->job->blind_to_pairs && job_silent_ranks(stops->job))
        return 0;
    return stops->count && stops->count < ranks &&
           (stops->count <= PAIR || stops->count * PART_NAMED <= ranks);
}

int find_laggards(const struct job *job, const struct baseline *baseline, struct findings *findings,
                  struct error *error)
{
    struct stops stops = {.job = job, .baseline = baseline};
    /* Without times, steps follow the order of the lines, and lost records may have shifted it. */
    int is_in_order = job->timed_operations || !job->missing_sequence;
    if (!job->finished_only || !is_in_order || !baseline_is_regular(baseline) ||
        findings_explain_stop(findings))
        return 0;
    int failed = find_stops(&stops);
    if (!failed && can_be_told(&stops))
        failed = add(&stops, findings);
    stops_release(&stops);
    return failed ? error_no_memory(error) : 0;
}
