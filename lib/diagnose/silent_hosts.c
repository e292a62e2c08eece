/*
 * Finds processes that stood still for a while: stopped (SIGSTOP, a debugger), frozen (a control group, a
 * virtual machine) or swapped out. Such a host makes no call for far longer than any host of the job ever
 * does, although nothing that it had called ended meanwhile, so that it did not wait for its GPU, and other
 * ranks wait for it. If the whole process stood still, so did its proxy threads: a transfer that was under
 * way ends soon after the host went on, and looks like a slow one. Runs after the search for late ranks,
 * which compares own times with those of peers, and before that for slow networks.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/evidence.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/*
 * A transfer that a silent process held up ends within this part of the silence after its next call. A call
 * and an end that are less apart may be in the other order: threads that run notice kernels within this time.
 */
enum { SOON_PART = 10, ORDER_KNOWN_NS = 100000 };
/*
 * Earlier steps than these after the warm-up have no past to compare with. A finding of as few steps explains
 * what is unusual in one of them.
 */
enum { STEPS_OF_PAST = 3 };

/* More silences are no exception, whatever the trace contains; and the next operation of a stream is among
 * so many. */
enum { MOST_SILENCES = 4096, LOOK_AHEAD = 64 };

/* How long the host of a rank made no call, and nothing ended that it had called, before an operation. */
struct silence {
    int64_t ns;
    int32_t operation; /* the one called after it */
    int32_t running;   /* an operation that ran all that time; -1: none */
};

struct silence_search {
    struct findings *findings;
    int64_t *cost_ns;
    const struct job *job;
    const struct baseline *baseline;
    struct transfer_excess *transfers;
    const struct diagnose_options *options;
    struct partitions partitions;
    struct silence *items; /* owned: those of at least half of `least_ns`, by rank */
    size_t count, capacity;
    size_t listed; /* with those in which something else may have ended */
    int64_t least_ns;
    int64_t other_ns;    /* the longest silence that is shorter than `least_ns`, in other steps */
    unsigned char *near; /* owned: [step], beside a silence of `least_ns` */
    unsigned char *has;  /* owned: [rank], the ranks of the silence that is examined */
};

static const struct job_operation *called_after(const struct silence_search *it,
                                                const struct silence *silence)
{
    return &it->job->operations[silence->operation];
}

/* The step in which it shows: the host may be ahead of its GPU by more than one step. */
static int32_t step_of(const struct silence_search *it, const struct silence *silence)
{
    return it->job->operations[silence->running < 0 ? silence->operation : silence->running].step;
}

/* Whether a rank's calls of an operation and of the one before follow each other in the record. */
static int are_consecutive(const struct silence_search *it, size_t at)
{
    const struct job_operation *before = &it->job->operations[at - 1], *after = before + 1;
    return before->enqueued_ns != TIME_UNKNOWN && after->enqueued_ns != TIME_UNKNOWN && before->step >= 0 &&
           after->step >= it->baseline->first_step &&
           (before->step == after->step || !job_is_break(it->job, before->step + 1));
}

/*
 * Whether it is known that an operation ended, or that it did not: an end that is noticed is not noticed
 * early, but a host that waited may have gone on before.
 */
static int is_end_known(const struct job_operation *operation, int64_t now_ns)
{
    int has_begun = operation->start_ns == TIME_UNKNOWN || operation->start_ns <= now_ns;
    if (!has_begun)
        return 1;
    if (operation->end_ns == TIME_UNKNOWN || operation->ends == ENDS_ESTIMATED)
        return 0;
    return operation->end_ns <= now_ns || operation->ends == ENDS_BY_KERNEL ||
           operation->ends == ENDS_BY_PROXY;
}

/* Whether a later operation of its stream began until then, so that an operation was over. */
static int has_next(const struct silence_search *it, size_t at, size_t end, int64_t until_ns)
{
    const struct job_operation *operations = it->job->operations;
    for (size_t i = at + 1; i < end && i - at <= LOOK_AHEAD; i++)
        if (operations[i].previous == (int32_t)at && operations[i].start_ns != TIME_UNKNOWN &&
            operations[i].start_ns <= until_ns)
            return 1;
    return 0;
}

/*
 * Whether an operation may have ended later than its kernel shows, as a leaf of a tree and a kernel with a
 * channel without a stop do, by half of a silence: another member ended so much later, or that is not known.
 */
static int may_end_later(const struct silence_search *it, size_t at, int64_t silence_ns)
{
    const struct job *job = it->job;
    const struct job_operation *operation = &job->operations[at];
    int64_t end_ns = job_common_time(job, operation, operation->end_ns);
    if ((!operation->is_tree && !operation->may_be_tree && !operation->incomplete) ||
        operation->function == FUNCTION_SEND)
        return 0;
    if (operation->instance < 0 || end_ns == TIME_UNKNOWN)
        return 1;
    const struct job_instance *instance = &job->instances[operation->instance];
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        int64_t other_ns = job_common_time(job, member, member->end_ns);
        if (other_ns == TIME_UNKNOWN || other_ns - end_ns > silence_ns / 2)
            return 1;
    }
    return instance->members < instance->expected;
}

/* Finds what ran all through a silence. Returns whether nothing else may have ended in it. */
static int examine_running(const struct silence_search *it, const struct job_rank *rank,
                           struct silence *silence)
{
    const struct job_operation *operations = it->job->operations;
    size_t at = (size_t)silence->operation;
    int64_t now_ns = operations[at].enqueued_ns;
    for (size_t i = at; i-- > rank->first && at - i <= (size_t)limit_of(LIMIT_CALLS_AHEAD);) {
        if (operations[i].start_ns == TIME_UNKNOWN || operations[i].start_ns > now_ns - silence->ns / 2)
            continue;
        if (operations[i].end_ns > now_ns)
            silence->running = (int32_t)i;
        else if (!has_next(it, i, at, now_ns - silence->ns) && may_end_later(it, i, silence->ns))
            return 0;
    }
    return 1;
}

/*
 * Measures the silence before an operation; 0 if an end is not known well enough, and if it is at most
 * `least_ns`.
 */
static struct silence silence_before(const struct silence_search *it, const struct job_rank *rank, size_t at,
                                     int64_t least_ns)
{
    const struct job_operation *operations = it->job->operations;
    int64_t now_ns = operations[at].enqueued_ns, since_ns = operations[at - 1].enqueued_ns,
            last_ns = since_ns;
    struct silence silence = {.operation = (int32_t)at, .running = -1};
    for (size_t i = at; i-- > rank->first && at - i <= (size_t)limit_of(LIMIT_CALLS_AHEAD);) {
        const struct job_operation *operation = &operations[i];
        if (operation->end_ns != TIME_UNKNOWN && operation->end_ns <= since_ns)
            continue;
        if (!is_end_known(operation, now_ns))
            return silence;
        if (operation->end_ns != TIME_UNKNOWN && operation->end_ns <= now_ns)
            last_ns = operation->end_ns > last_ns ? operation->end_ns : last_ns;
        if (now_ns - last_ns <= least_ns)
            return silence;
    }
    silence.ns = now_ns - last_ns;
    return silence;
}

/* Lists the silences of a rank that are longer than half of the least. -1 when memory runs out. */
static int list_silences(struct silence_search *it, const struct job_rank *rank)
{
    const struct job_operation *operations = it->job->operations;
    for (size_t i = rank->first + 1; i < rank->first + rank->count && it->listed < MOST_SILENCES; i++) {
        if (!are_consecutive(it, i) ||
            operations[i].enqueued_ns - operations[i - 1].enqueued_ns <= it->least_ns / 2)
            continue;
        struct silence silence = silence_before(it, rank, i, it->least_ns / 2);
        if (!silence.ns)
            continue;
        it->listed++;
        if (!examine_running(it, rank, &silence))
            continue;
        if (array_reserve((void **)&it->items, &it->capacity, it->count + 1, sizeof *it->items))
            return -1;
        it->items[it->count++] = silence;
    }
    return 0;
}

static void mark_near(struct silence_search *it, int32_t step)
{
    for (int32_t near = step - 1; near <= step + 1; near++)
        if (near >= 0 && near < it->job->step_count)
            it->near[near] = 1;
}

/* Measures the longest silence of other steps. */
static void measure_others(struct silence_search *it)
{
    const struct job *job = it->job;
    for (size_t i = 0; i < it->count; i++)
        if (it->items[i].ns >= it->least_ns)
            mark_near(it, step_of(it, &it->items[i]));
    for (size_t rank = 0; rank < job->rank_count; rank++)
        for (size_t i = job->ranks[rank].first + 1; i < job->ranks[rank].first + job->ranks[rank].count;
             i++) {
            const struct job_operation *operation = &job->operations[i];
            if (!are_consecutive(it, i) || it->near[operation->step] ||
                operation->enqueued_ns - operation[-1].enqueued_ns <= it->other_ns)
                continue;
            struct silence silence = silence_before(it, &job->ranks[rank], i, it->other_ns);
            it->other_ns = silence.ns > it->other_ns ? silence.ns : it->other_ns;
        }
}

/* Marks the ranks that were silent for half as long at the time of a silence. Returns their number. */
static size_t mark_silent(const struct silence_search *it, const struct silence *silence)
{
    int32_t step = step_of(it, silence);
    size_t count = 0;
    memset(it->has, 0, it->job->rank_count);
    for (size_t i = 0; i < it->count; i++) {
        const struct job_operation *operation = called_after(it, &it->items[i]);
        if (it->items[i].ns < silence->ns / 2 || abs(step_of(it, &it->items[i]) - step) > 1)
            continue;
        count += !it->has[operation->rank];
        it->has[operation->rank] = 1;
    }
    return count;
}

/* Whether the marked ranks are one, or all of one host of several. */
static int are_one(const struct silence_search *it, const struct silence *silence, size_t count)
{
    const struct partition *hosts = partitions_hosts(&it->partitions);
    size_t host = (size_t)hosts->unit_of[called_after(it, silence)->rank], here = 0;
    for (size_t i = hosts->first[host]; i < hosts->first[host + 1]; i++)
        here += it->has[hosts->ranks[i]];
    return count == 1 ||
           (hosts->kind == UNIT_HOST && hosts->count > 1 && here == count && here == unit_size(hosts, host));
}

/* For how long an operation of another rank ran during a silence; where no clocks tell, how long it ran. */
static int64_t waited_ns(const struct silence_search *it, const struct silence *silence,
                         const struct job_operation *other)
{
    const struct job_operation *after = called_after(it, silence);
    int64_t end_ns = job_common_time(it->job, after, after->enqueued_ns),
            from_ns = job_common_time(it->job, other, other->start_ns),
            until_ns = job_common_time(it->job, other, other->end_ns);
    if (other->start_ns == TIME_UNKNOWN || other->end_ns == TIME_UNKNOWN)
        return 0;
    if (end_ns == TIME_UNKNOWN || from_ns == TIME_UNKNOWN || until_ns == TIME_UNKNOWN)
        return job_duration(other);
    from_ns = from_ns > end_ns - silence->ns ? from_ns : end_ns - silence->ns;
    return (until_ns < end_ns ? until_ns : end_ns) - from_ns;
}

/* Whether another rank waited half of the silence in an operation that ran then, or was called after it. */
static int is_waited_for(const struct silence_search *it, const struct silence *silence)
{
    const struct job *job = it->job;
    const struct job_operation *after = called_after(it, silence);
    const struct job_rank *rank = &job->ranks[after->rank];
    size_t first = (size_t)(silence->running < 0 ? silence->operation : silence->running);
    for (size_t i = first;
         i < rank->first + rank->count && i - first <= (size_t)limit_of(LIMIT_CALLS_AHEAD) &&
         job->operations[i].step <= step_of(it, silence);
         i++) {
        int32_t number = job->operations[i].instance;
        for (int32_t j = 0; number >= 0 && j < job->instances[number].members; j++) {
            const struct job_operation *member = job_member(job, &job->instances[number], j);
            if (!it->has[member->rank] && waited_ns(it, silence, member) >= silence->ns / 2)
                return 1;
        }
    }
    return 0;
}

/* Whether the other members of what ran during a silence were there before half of it, by aligned clocks. */
static int had_others_come(const struct silence_search *it, const struct silence *silence)
{
    const struct job_operation *after = called_after(it, silence);
    int32_t number = it->job->operations[silence->running].instance;
    int64_t end_ns = job_common_time(it->job, after, after->enqueued_ns);
    if (number < 0 || end_ns == TIME_UNKNOWN)
        return 0;
    const struct job_instance *instance = &it->job->instances[number];
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(it->job, instance, i);
        int64_t start_ns = job_common_time(it->job, member, member->start_ns);
        if (start_ns == TIME_UNKNOWN || start_ns > end_ns - silence->ns / 2)
            return 0;
    }
    return instance->members == instance->expected;
}

/* Whether the host usually calls an operation while the one before runs, in three of four other steps. */
static int is_usually_ahead(const struct silence_search *it, const struct job_operation *after)
{
    const struct baseline *baseline = it->baseline;
    int32_t role = baseline->role_of_rank[after->rank],
            position = baseline->positions[after - it->job->operations];
    int32_t known = 0, ahead = 0;
    for (int32_t step = baseline->first_step; role >= 0 && position >= 0 && step < baseline->step_count;
         step++) {
        int32_t at =
            baseline_cell(baseline, role, position, (size_t)baseline->rank_in_role[after->rank], step);
        if (at < 1 || step == after->step || !are_consecutive(it, (size_t)at))
            continue;
        known++;
        ahead += it->job->operations[at - 1].end_ns > it->job->operations[at].enqueued_ns + ORDER_KNOWN_NS;
    }
    return known >= STEPS_OF_PAST && ahead * 4 >= known * 3;
}

/*
 * Whether the host did not wait for what ran during a silence: it is far ahead of that as a rule, and it was
 * the first to go on, by more than what its clock may be off; and that did not go on much later for another
 * reason.
 */
static int went_on_first(const struct silence_search *it, const struct silence *silence)
{
    const struct job_operation *after = called_after(it, silence);
    if (silence->running < 0)
        return 1;
    int64_t later_ns = it->job->operations[silence->running].end_ns - after->enqueued_ns;
    return later_ns > ORDER_KNOWN_NS && later_ns <= silence->ns / SOON_PART && had_others_come(it, silence) &&
           is_usually_ahead(it, after);
}

/* Whether a finding that is reported explains the step already: one of the rank, or of few steps. */
static int is_found(const struct silence_search *it, const struct silence *silence)
{
    int32_t step = step_of(it, silence);
    for (size_t i = 0; i < it->findings->count; i++) {
        const struct finding *finding = &it->findings->items[i];
        if (finding_is_reported(finding) && finding_has_step(finding, step) &&
            (finding_has_rank(finding, called_after(it, silence)->rank) ||
             finding_steps(finding) <= STEPS_OF_PAST))
            return 1;
    }
    return 0;
}

/* The transfers of its ranks that were slow in that step are explained. */
static void note_culprit(const struct silence_search *it, const struct finding *finding)
{
    struct job_range range = job_instances_in(it->job, finding->first_step, finding->last_step);
    for (size_t i = range.first; i < range.end; i++) {
        int32_t at = it->job->by_step[i];
        const struct job_instance *instance = &it->job->instances[at];
        for (int32_t j = 0; j < instance->members && it->transfers[at].culprit < 0; j++)
            if (it->transfers[at].slow_ns > 0 && it->has[job_member(it->job, instance, j)->rank])
                it->transfers[at].culprit = finding->rank;
    }
}

static int append_evidence(const struct silence_search *it, const struct silence *silence,
                           struct finding *finding)
{
    struct buffer *text = &finding->evidence;
    const struct job_operation *after = called_after(it, silence);
    figures_add_time(&finding->figures, "silence_us", silence->ns);
    figures_add_time(&finding->figures, "silence_us_others", it->other_ns);
    if (buffer_append_text(text, "It made no call for ") || text_time(text, silence->ns) ||
        buffer_append_text(text, " (the longest such time in other steps, of all ranks: ") ||
        text_time(text, it->other_ns) ||
        buffer_append_text(text,
                           "), while other ranks waited for it and nothing ended that it could have "
                           "waited for"))
        return -1;
    if (silence->running < 0)
        return 0;
    int64_t later_ns = it->job->operations[silence->running].end_ns - after->enqueued_ns;
    return buffer_append_text(text,
                              ". An operation under way, which it usually does not wait for, ended only ") ||
           text_time(text, later_ns) ||
           buffer_append_text(text, " after its next call, so its proxy threads stood still as well");
}

static int fill(const struct silence_search *it, const struct silence *silence, struct finding *finding)
{
    const struct job_operation *after = called_after(it, silence);
    finding->kind = FINDING_HOST;
    finding->confidence = CONFIDENCE_HIGH;
    finding->rank = after->rank;
    finding->tag = it->job->operations[silence->running < 0 ? silence->operation : silence->running].tag;
    finding->first_step = finding->last_step = step_of(it, silence);
    finding->pause_ns = finding->slow_ns = silence->ns;
    return finding_take_ranks(finding, it->has, it->job->rank_count) || append_evidence(it, silence, finding);
}

/* The cost: the silence, limited by how much longer the steps were in which it began and ended. */
static int measure_cost(const struct silence_search *it, const struct silence *silence,
                        struct finding *finding)
{
    struct lengthening lengthening;
    int32_t before =
        silence->running < 0 ? it->job->operations[silence->operation - 1].step : finding->first_step;
    const struct costly_steps steps = {.first = before < finding->first_step ? before : finding->first_step,
                                       .last = finding->last_step};
    if (lengthening_measure(&lengthening, &steps, it->job, it->baseline))
        return -1;
    finding->lost_ns = silence->ns < lengthening.most_ns ? silence->ns : lengthening.most_ns;
    finding_ask_steps(it->findings, finding, &lengthening, silence->ns);
    return 0;
}

static void ask(const struct silence_search *it, const struct silence *silence, struct finding *finding)
{
    const struct findings *findings = it->findings;
    double worth = ratio_of(finding->lost_ns, it->baseline->median_step_ns);
    worth = it->options->min_gain > 0 ? worth / it->options->min_gain : worth > 0 ? 2 : 0;
    finding_ask(findings, finding, RULE_SILENCE, ratio_of(silence->ns, it->other_ns > 0 ? it->other_ns : 1));
    finding_ask(findings, finding, RULE_WORTH, worth);
    finding_ask(findings, finding, RULE_WORTH_SURE, worth);
    finding_ask(findings, finding, RULE_SHARED_PROCESS, it->job->ranks[finding->rank].is_part);
    finding_ask(findings, finding, RULE_LOST_RECORDS,
                it->job->ranks[finding->rank].may_lack_file ||
                    it->job->ranks[finding->rank].tail_step <= finding->last_step);
    finding_ask_record(findings, finding, it->job, it->baseline);
}

/* Adds a finding, unless the rules leave it in doubt. -1 when memory runs out. */
static int take(struct silence_search *it, const struct silence *silence)
{
    struct finding *finding = findings_add(it->findings);
    if (!finding || fill(it, silence, finding) || measure_cost(it, silence, finding))
        return -1;
    ask(it, silence, finding);
    if (finding->confidence == CONFIDENCE_LOW) {
        findings_remove(it->findings, it->findings->count - 1);
        return 0;
    }
    it->cost_ns[finding->first_step] += finding->lost_ns;
    note_culprit(it, finding);
    return 0;
}

static int take_all(struct silence_search *it)
{
    for (size_t i = 0; i < it->count; i++) {
        const struct silence *silence = &it->items[i];
        if (silence->ns < it->least_ns || step_of(it, silence) < it->baseline->first_step + STEPS_OF_PAST ||
            is_found(it, silence) || !are_one(it, silence, mark_silent(it, silence)) ||
            !went_on_first(it, silence) || !is_waited_for(it, silence))
            continue;
        if (take(it, silence))
            return -1;
    }
    return 0;
}

/* Whether the record shows all operations that a host may have waited for, and its calls. */
static int is_recorded(const struct job *job)
{
    return !job->blind_to_pairs && !job_lacks_stage_p2p(job) && !job->bare_calls && !job->left_out &&
           !job->finished_only && !job->calls_only && !job->calls_lack_gpu_times && !job->is_windows;
}

int findings_take_silent_hosts(struct findings *findings, int64_t *cost_ns, const struct job *job,
                               const struct baseline *baseline, const struct edges *edges,
                               struct transfer_excess *transfers, const struct diagnose_options *options,
                               struct error *error)
{
    struct silence_search it = {.findings = findings,
                                .cost_ns = cost_ns,
                                .job = job,
                                .baseline = baseline,
                                .transfers = transfers,
                                .options = options,
                                .least_ns = scale(baseline->median_step_ns, limit_of(LIMIT_PAUSE))};
    int failed = 0;
    if (!baseline->median_step_ns || !is_recorded(job))
        return 0;
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        failed = list_silences(&it, &job->ranks[i]);
    if (!failed && it.count && it.listed < MOST_SILENCES) {
        it.near = array_new((size_t)job->step_count, 1);
        it.has = array_new(job->rank_count, 1);
        failed = !it.near || !it.has || partitions_init(&it.partitions, job, edges);
        if (!failed) {
            measure_others(&it);
            failed = take_all(&it);
        }
        partitions_release(&it.partitions);
    }
    free(it.items);
    free(it.near);
    free(it.has);
    return failed ? error_no_memory(error) : 0;
}
