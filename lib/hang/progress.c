/*
 * How far each operation of a stopped job came (over, held up, waiting, never started), which instances are
 * pending, and which ranks left no record. The other files of lib/hang decide from this.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>

enum lack { LACKS_END = 1, LACKS_START = 2, IS_FOLLOWED = 4, IS_SEEN = 8 };

/*
 * A rank whose GPU finished an operation this many steps later is past the operations before, since steps
 * follow each other.
 */
enum { STEPS_PAST = 2 };

static int operation_progress_next_began(const struct operation_progress *progress, int32_t operation);

static int ended(const struct job_operation *operation)
{
    return operation->end_ns != TIME_UNKNOWN && !operation->unfinished;
}

/* An estimated end is taken from when other operations began, so it does not show that ends are recorded. */
static int has_recorded_end(const struct job_operation *operation)
{
    return ended(operation) && operation->ends != ENDS_ESTIMATED;
}

static void note_next(struct operation_progress *progress)
{
    const struct job *job = progress->job;
    for (size_t i = 0; i < job->operation_count; i++)
        progress->next[i] = -1;
    for (size_t i = 0; i < job->operation_count; i++)
        if (job->operations[i].previous >= 0 && job->operations[i].group == (int32_t)i)
            progress->next[job->operations[job->operations[i].previous].group] = (int32_t)i;
}

/*
 * Peer and size belong to the key because sends to some ranks go over the network and others do not, and are
 * recorded differently.
 */
static struct map_key like_key(const struct job *job, const struct job_operation *operation)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    int32_t peer = operation->rank == instance->sender ? instance->receiver : instance->sender;
    uint64_t function = operation->function;
    if (function_is_point_to_point(operation->function))
        function |= (uint64_t)(uint32_t)(peer + 1) << 8;
    return (struct map_key){
        {(uint64_t)operation->rank, (uint64_t)operation->communicator, function, (uint64_t)operation->bytes}};
}

/* Finds the last step in which the GPU of each rank finished an operation. */
static void note_steps(struct operation_progress *progress)
{
    for (size_t i = 0; i < progress->job->rank_count; i++)
        progress->finished_step[i] = -1;
    for (size_t i = 0; i < progress->job->operation_count; i++) {
        const struct job_operation *operation = &progress->job->operations[i];
        int32_t *step = &progress->finished_step[operation->rank];
        if (ended(operation) && operation->step > *step)
            *step = operation->step;
    }
}

/*
 * Records for each kind of operation whether its start or end on the GPU was ever recorded, and which of
 * these the last one lacks that was followed by another.
 */
static int note_likes(struct operation_progress *progress)
{
    for (size_t i = 0; i < progress->job->operation_count; i++) {
        const struct job_operation *operation = &progress->job->operations[i];
        int has_start = operation->start_ns != TIME_UNKNOWN && !operation->inferred;
        int64_t *like = map_put(&progress->likes, like_key(progress->job, operation), 0, NULL);
        if (!like)
            return -1;
        if (has_start || has_recorded_end(operation))
            *like |= IS_SEEN;
        if (operation_progress_next_began(progress, (int32_t)i))
            *like = (*like & IS_SEEN) | IS_FOLLOWED | (has_recorded_end(operation) ? 0 : LACKS_END) |
                    (has_start ? 0 : LACKS_START);
    }
    return 0;
}

int operation_progress_init(struct operation_progress *progress, const struct job *job)
{
    *progress = (struct operation_progress){.job = job};
    map_init(&progress->likes);
    progress->next = array_new(job->operation_count, sizeof *progress->next);
    progress->finished_step = array_new(job->rank_count, sizeof *progress->finished_step);
    progress->lacking = list_lacking(job);
    if (!progress->next || !progress->finished_step || !progress->lacking)
        return -1;
    note_next(progress);
    note_steps(progress);
    return note_likes(progress);
}

void operation_progress_release(struct operation_progress *progress)
{
    map_release(&progress->likes);
    free(progress->next);
    free(progress->finished_step);
    free(progress->lacking);
}

/* Whether the next operation on its stream started on the GPU. */
static int operation_progress_next_began(const struct operation_progress *progress, int32_t operation)
{
    int32_t next = progress->next[progress->job->operations[operation].group];
    return next >= 0 && progress->job->operations[next].start_ns != TIME_UNKNOWN;
}

/* Whether its rank finished operations of steps well after it. */
static int is_steps_ago(const struct operation_progress *progress, const struct job_operation *operation)
{
    return operation->step >= 0 &&
           progress->finished_step[operation->rank] - (int64_t)operation->step >= STEPS_PAST;
}

int operation_progress_is_over(const struct operation_progress *progress, int32_t operation)
{
    const struct job_operation *of = &progress->job->operations[operation];
    return progress->job->finished_only || ended(of) || operation_progress_next_began(progress, operation) ||
           is_steps_ago(progress, of);
}

/*
 * Whether a missing end means that the operation did not end. It does not if the last one like it lacks its
 * end although others followed, if no times were ever recorded for operations like it, or if both times are
 * missing in a job whose kernel times were left out because they belong to other operations.
 */
static int ends_are_recorded(const struct operation_progress *progress, int32_t operation)
{
    const struct job *job = progress->job;
    if (job->misattributed_kernels && job->operations[operation].start_ns == TIME_UNKNOWN)
        return 0;
    const int64_t *like =
        map_get(&progress->likes, like_key(progress->job, &progress->job->operations[operation]));
    return like && (*like & (IS_FOLLOWED | LACKS_END)) != (IS_FOLLOWED | LACKS_END) && (*like & IS_SEEN);
}

int operation_progress_is_held(const struct operation_progress *progress, int32_t operation)
{
    const struct job *job = progress->job;
    if (job->calls_only)
        return progress->lacking[job->operations[operation].instance];
    return !operation_progress_is_over(progress, operation) && ends_are_recorded(progress, operation) &&
           job->ranks[job->operations[operation].rank].cut == CUT_NONE;
}

static int starts_are_recorded(const struct operation_progress *progress, int32_t operation)
{
    const int64_t *like =
        map_get(&progress->likes, like_key(progress->job, &progress->job->operations[operation]));
    return like && (*like & (IS_FOLLOWED | LACKS_START)) == IS_FOLLOWED;
}

int operation_progress_waits(const struct operation_progress *progress, int32_t operation)
{
    const struct job_operation *of = &progress->job->operations[operation];
    return of->start_ns != TIME_UNKNOWN && !of->inferred && operation_progress_is_held(progress, operation);
}

int operation_progress_never_began(const struct operation_progress *progress, int32_t operation)
{
    return progress->job->operations[operation].start_ns == TIME_UNKNOWN &&
           !operation_progress_is_over(progress, operation) && starts_are_recorded(progress, operation);
}

int is_pending(const struct absence *absence, const struct job_instance *instance, int to_be_sure)
{
    const struct job *job = absence->job;
    int32_t past = 0;
    if (instance->members >= instance->expected)
        return 0;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        if (to_be_sure ? operation_progress_is_held(&absence->operation_progress, at)
                       : !operation_progress_is_over(&absence->operation_progress, at))
            continue;
        if (job->finished_only || operation_progress_next_began(&absence->operation_progress, at) ||
            !function_is_full_exchange(instance->function))
            return 0;
        past++;
    }
    return past < instance->members;
}

/* Whether the GPU of a member never started it although its host called it. */
static int lacks_a_start(const struct absence *absence, const struct job_instance *instance)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (operation_progress_never_began(&absence->operation_progress,
                                           job_member_at(absence->job, instance, i)))
            return 1;
    return 0;
}

/* If one rank got past it, all can: a rank without an end only lost the record of it. */
static int somebody_is_past(const struct absence *absence, const struct job_instance *instance)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (operation_progress_is_over(&absence->operation_progress,
                                       job_member_at(absence->job, instance, i)))
            return 1;
    return 0;
}

void note_waiting(struct absence *absence, const struct job_instance *instance)
{
    if (!lacks_a_start(absence, instance) && somebody_is_past(absence, instance))
        return;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(absence->job, instance, i);
        if (operation_progress_waits(&absence->operation_progress, at))
            absence->ranks[absence->job->operations[at].rank].is_waiting = 1;
    }
}

/* The exchange of all its members with which the record of a rank ends, if its GPU finished it; or -1. */
static int32_t last_finished_exchange(const struct job *job, int32_t rank)
{
    const struct job_rank *of = &job->ranks[rank];
    const struct job_operation *last = of->count ? &job->operations[of->first + of->count - 1] : NULL;
    return last && last->step >= 0 && has_recorded_end(last) && function_is_full_exchange(last->function)
               ? last->instance
               : -1;
}

/* Whether a rank took part in an exchange that others finished; its own record shows no other end, if any. */
static int joined(const struct job *job, int32_t number, int32_t rank)
{
    const struct job_instance *instance = &job->instances[number];
    const struct job_communicator *communicator = &job->communicators[instance->communicator];
    for (int32_t i = 0; i < instance->members; i++)
        if (job_member(job, instance, i)->rank == rank)
            return last_finished_exchange(job, rank) == number;
    for (size_t i = 0; job->ranks[rank].count && i < communicator->member_list_count; i++)
        if (communicator->member_list[i].rank == rank)
            return 1;
    return 0;
}

/*
 * Whether the peer of a transfer finished more together with a rank afterwards, up to the end of both
 * records: then the rank only lost the record of the transfer, as the peer lost its end. A collective on
 * another stream may stay unfinished beside that.
 */
static int ended_together(const struct absence *absence, const struct job_instance *instance, int32_t rank)
{
    const struct job *job = absence->job;
    if (!function_is_point_to_point(instance->function))
        return 0;
    int32_t last = last_finished_exchange(job, job_member(job, instance, 0)->rank);
    if (last < 0 || job->instances[last].step < instance->step || !joined(job, last, rank))
        return 0;
    for (int32_t i = 1; i < instance->members; i++)
        if (last_finished_exchange(job, job_member(job, instance, i)->rank) != last)
            return 0;
    return 1;
}

/* A rank that went on to later operations of the sequence only lost the record of this one. */
static int went_past(const struct absence *absence, const struct job_instance *instance, int32_t rank)
{
    if (ended_together(absence, instance, rank))
        return 1;
    const int64_t *last = extents_last(absence->extents, rank, instance->communicator, instance->function);
    return instance->function != FUNCTION_SEND && last && *last > instance->sequence;
}

/*
 * Whether the record of a rank ends before operations that others finished with it, so that where it stopped
 * is not known.
 */
static int is_record_lost(const struct absence *absence, const struct job_instance *instance, int32_t rank)
{
    return instance->function != FUNCTION_SEND &&
           extents_lack(absence->extents, rank, instance->communicator, instance->function);
}

static int32_t place_of(const struct absence *absence, const struct job_instance *instance)
{
    int32_t least = INT32_MAX;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t position = absence->positions[job_member_at(absence->job, instance, i)];
        if (position >= 0 && position < least)
            least = position;
    }
    return least;
}

/*
 * Whether the ranks that wait in an instance do so by their own mistake: all of them left their call
 * sequence, and a missing rank follows its own, as at least as many others do.
 */
static int is_odd_call(const struct absence *absence, const struct job_instance *instance, int32_t rank)
{
    const struct sequence_check_of_rank *sequence_counts = absence->call_sequence.ranks;
    int32_t left = 0;
    for (int32_t i = 0; i < instance->members; i++)
        left += sequence_counts[job_member(absence->job, instance, i)->rank].sequence_check == SEQUENCE_LEFT;
    return sequence_counts[rank].sequence_check == SEQUENCE_FOLLOWED && left == instance->members &&
           absence->sequence_counts.left <= absence->sequence_counts.kept;
}

/*
 * Records that a rank is missing from a pending operation; the one that comes first in its step is kept. A
 * rank without a trace, or without the end of it, may have lost the record, so the operation must certainly
 * be pending.
 */
static void note_absent(struct absence *absence, int32_t number, int32_t place, int32_t rank)
{
    const struct job_instance *instance = &absence->job->instances[number];
    struct attendance *of = rank < 0 ? NULL : &absence->ranks[rank];
    if (!of || of->came_to == number || went_past(absence, instance, rank))
        return;
    if (is_odd_call(absence, instance, rank))
        return;
    int is_lost = is_record_lost(absence, instance, rank);
    if ((is_lost || !is_recorded(absence->job, rank)) && !absence->is_sure)
        return;
    int32_t step = of->missing_from < 0 ? INT32_MAX : absence->job->instances[of->missing_from].step;
    if (of->missing_from >= 0 && (instance->step > step || (instance->step == step && place >= of->place)))
        return;
    of->missing_from = number;
    of->place = place;
    of->is_lost = is_lost;
}

static void note_waiting_in(struct absence *absence, int32_t number)
{
    const struct job_instance *instance = &absence->job->instances[number];
    absence->pending[number] = 1;
    for (int32_t i = 0; i < instance->members; i++) {
        struct attendance *of = &absence->ranks[job_member(absence->job, instance, i)->rank];
        of->is_waiting = 1;
        of->came_to = number;
    }
}

void note_pending(struct absence *absence, int32_t number)
{
    const struct job *job = absence->job;
    const struct job_instance *instance = &job->instances[number];
    int32_t place = place_of(absence, instance);
    absence->is_sure = is_pending(absence, instance, 1);
    /*
     * An operation that may be over, and that only ranks with lost records are missing from, proves nothing.
     */
    if (!absence->is_sure && !absence->operation_progress.lacking[number])
        return;
    note_waiting_in(absence, number);
    if (instance->function == FUNCTION_SEND) {
        note_absent(absence, number, place, instance->sender);
        note_absent(absence, number, place, instance->receiver);
        return;
    }
    const struct job_communicator *communicator = &job->communicators[instance->communicator];
    for (size_t i = 0; i < communicator->member_list_count; i++)
        note_absent(absence, number, place, communicator->member_list[i].rank);
    for (size_t i = 0; i < communicator->told_count; i++)
        note_absent(absence, number, place, communicator->told[i].rank);
    for (size_t i = 0; communicator->is_whole && i < job->rank_count; i++)
        if (job_rank_in(job, instance->communicator, job->ranks[i].global_rank) == (int32_t)i)
            note_absent(absence, number, place, (int32_t)i);
    note_absent(absence, number, place, communicator->silent);
}

/*
 * The total length of the lists of waiting ranks, since each missing rank lists the ranks that wait for it.
 */
enum { WAITING_MOST = 1 << 20 };

static int32_t list_most(const struct absence *absence, const struct job_instance *instance)
{
    size_t most = absence->absent_count ? WAITING_MOST / absence->absent_count : WAITING_MOST;
    return (size_t)instance->members < most ? instance->members : (int32_t)most;
}

int append_waiting(const struct absence *absence, int32_t number, struct finding *finding)
{
    const struct job *job = absence->job;
    const struct job_instance *instance = &job->instances[number];
    int32_t listed = list_most(absence, instance);
    for (int32_t i = 0; i < listed; i++)
        if (finding_add_peer(finding, job_member(job, instance, i)->rank))
            return -1;
    figures_add(&finding->figures, "begun_ranks", instance->members);
    figures_add(&finding->figures, "expected_ranks", instance->expected);
    return buffer_printf(&finding->evidence, "%d of %d ranks %s ", instance->members, instance->expected,
                         job->calls_only ? "called" : "started") ||
                   text_operation(&finding->evidence, job, instance, instance->function) ||
                   (!job->calls_only && buffer_append_text(&finding->evidence, ", and it never finished"))
               ? -1
               : 0;
}

static int64_t longest_operation(const struct job *job, const struct job_rank *rank)
{
    int64_t longest_ns = 0;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->start_ns == TIME_UNKNOWN || operation->end_ns == TIME_UNKNOWN || operation->unfinished)
            continue;
        int64_t took_ns = operation->end_ns - operation->start_ns;
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
    }
    return longest_ns;
}

/* The longest time from the first start in a step to the first in the next. */
static int64_t longest_step(const struct job *job, const struct job_rank *rank)
{
    int64_t longest_ns = 0;
    const struct job_operation *first = NULL;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *here = &job->operations[i];
        if (here->step <= 0 || here->start_ns == TIME_UNKNOWN || (first && here->step <= first->step))
            continue;
        if (first && here->step == first->step + 1 && here->start_ns - first->start_ns > longest_ns)
            longest_ns = here->start_ns - first->start_ns;
        first = here;
    }
    return longest_ns;
}

static int64_t longest_ever(const struct job *job, const struct job_rank *rank)
{
    int64_t operation_ns = longest_operation(job, rank), step_ns = longest_step(job, rank);
    return operation_ns > step_ns ? operation_ns : step_ns;
}

int64_t record_end(const struct job *job, const struct job_rank *rank)
{
    int64_t end_ns = rank->seen_until_ns;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        int64_t enqueued_ns = job->operations[i].enqueued_ns;
        if (enqueued_ns == TIME_UNKNOWN)
            continue;
        enqueued_ns += job_delay(job, &job->operations[i]);
        end_ns = enqueued_ns > end_ns ? enqueued_ns : end_ns;
    }
    return end_ns;
}

/* A rank counts as waiting late in its record if the operation was pending at least this long (job_rank). */
static const int64_t TOLD_AFTER_NS = 1000000000;

/* How long it had waited when the record of its rank ended. */
static int64_t waited_ns(const struct job *job, const struct job_operation *operation, int64_t end_ns)
{
    int64_t waited_ns = end_ns - (operation->start_ns + job_delay(job, operation));
    return job->ranks[operation->rank].reports_after_pending && waited_ns < TOLD_AFTER_NS ? TOLD_AFTER_NS
                                                                                          : waited_ns;
}

int job_has_unprecedented_wait(const struct operation_progress *progress)
{
    const struct job *job = progress->job;
    for (size_t i = 0; i < job->rank_count; i++) {
        const struct job_rank *rank = &job->ranks[i];
        int64_t longest_ns = longest_ever(job, rank), end_ns = record_end(job, rank);
        for (size_t at = rank->first; longest_ns && at < rank->first + rank->count; at++)
            if (operation_progress_waits(progress, (int32_t)at) &&
                waited_ns(job, &job->operations[at], end_ns) > longest_ns)
                return 1;
    }
    return 0;
}

/* At most this many ranks are named; more are counted. */
enum { RANKS_NAMED = 4 };

/* How many ranks that wait in a call do so in `instance`, without the rank that they wait for. */
static size_t count_waiters(const struct wait_graph *graph, const struct wait *wait, int32_t instance)
{
    const struct job_operation *operations = graph->job->operations;
    const struct waiter *waited_for = &graph->waiters[wait->to];
    if (wait->operation >= 0)
        return operations[wait->operation].instance == instance;
    const struct wait_party *party = wait_party_of(graph, wait->call, instance);
    return party ? (size_t)party->count - (waited_for->call == wait->call &&
                                           operations[waited_for->operation].instance == instance)
                 : 0;
}

static int by_rank(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

/* Counts the ranks that wait for a rank in an instance and lists the first RANKS_NAMED. */
static size_t list_waiters(const struct wait_graph *graph, int32_t rank, int32_t instance, int32_t *named)
{
    size_t count = 0;
    for (int32_t i = graph->waits_for[rank]; i >= 0; i = graph->waits[i].next_to) {
        const struct wait *wait = &graph->waits[i];
        int32_t from = count_waiters(graph, wait, instance) ? graph->calls[wait->call].first_waiter : -1;
        for (; from >= 0; from = graph->waiters[from].next)
            if (from != rank &&
                graph->job->operations[wait_operation(graph, wait, from)].instance == instance)
                named[count++] = from;
    }
    array_sort(named, count, sizeof *named, by_rank);
    return count;
}

int append_who_waits(const struct wait_graph *graph, int32_t rank, int32_t operation, struct buffer *text)
{
    int32_t named[RANKS_NAMED], instance = graph->job->operations[operation].instance;
    size_t count = 0;
    for (int32_t i = graph->waits_for[rank]; i >= 0; i = graph->waits[i].next_to)
        count += count_waiters(graph, &graph->waits[i], instance);
    if (count > RANKS_NAMED)
        return buffer_printf(text, "%zu ranks are waiting in ", count);
    int failed = buffer_append_text(text, count == 1 ? "Rank" : "Ranks");
    count = list_waiters(graph, rank, instance, named);
    for (size_t i = 0; !failed && i < count; i++)
        failed = buffer_printf(text, "%s %s", i ? "," : "", graph->job->ranks[named[i]].name);
    return failed || buffer_append_text(text, count == 1 ? " is waiting in " : " are waiting in ");
}

int unrecorded_init(struct unrecorded *unrecorded, const struct job *job)
{
    *unrecorded = (struct unrecorded){
        .job = job, .recorded = array_new(job->communicator_count, sizeof *unrecorded->recorded)};
    if (!unrecorded->recorded)
        return -1;
    for (size_t i = 0; i < job->rank_count; i++) {
        unrecorded->ranks += call_is_recorded(job, (int32_t)i);
        unrecorded->present += job->ranks[i].process_id >= 0;
    }
    for (size_t i = 0; i < job->communicator_count; i++)
        for (size_t k = 0; k < job->communicators[i].member_list_count; k++)
            unrecorded->recorded[i] += call_is_recorded(job, job->communicators[i].member_list[k].rank);
    return 0;
}

void unrecorded_release(struct unrecorded *unrecorded)
{
    free(unrecorded->recorded);
}

static int are_few(int64_t recorded, int64_t all, double times)
{
    return (double)recorded < times * (double)(all - recorded);
}

int unrecorded_can_be_named(const struct unrecorded *unrecorded, int32_t communicator)
{
    const struct job_communicator *of = &unrecorded->job->communicators[communicator];
    double times = limit_of(of->size_is_known ? LIMIT_RECORDS : LIMIT_RECORDS_UNSIZED);
    return !are_few(unrecorded->recorded[communicator], of->size, times) &&
           !are_few(unrecorded->ranks, unrecorded->job->expected_ranks, times);
}

void unrecorded_doubt(const struct unrecorded *unrecorded, const struct findings *findings,
                      int32_t communicator, struct finding *finding)
{
    finding_ask(findings, finding, RULE_UNRECORDED, 1);
    const struct job *job = unrecorded->job;
    double absent = ratio_of(job->expected_ranks - unrecorded->present, unrecorded->present);
    /* If no record shows how many ranks there are, more may be absent than are known of. */
    if (!job->communicators[communicator].size_is_known && absent < 1)
        absent = 1;
    finding_ask(findings, finding, RULE_NO_TRACE, absent);
}
