#include "postmortem/unmade.h"

#include "base/array.h"
#include "job/start_ups.h"
#include "verdict/words.h"

#include <stdlib.h>
#include <string.h>

/* How far the ranks of one communicator came with making it. */
struct making {
    const struct job *job;
    int32_t communicator;
    const struct job_start *starts; /* borrowed: of this communicator */
    size_t count;
    size_t complete; /* of those */
    int has_met;     /* some rank is past the bootstrap, which none leaves before all have come */
};

static struct making making_of(const struct job *job, size_t begin)
{
    struct making making = {
        .job = job, .communicator = job->starts[begin].communicator, .starts = &job->starts[begin]};
    for (size_t i = begin; i < job->start_count && job->starts[i].communicator == making.communicator; i++) {
        const struct start_up *told = &job->starts[i].told;
        making.count++;
        making.complete += told->is_complete != 0;
        making.has_met |= told->is_complete || told->parts_ns[START_BOOTSTRAP] != TIME_UNKNOWN;
    }
    return making;
}

/* By communicator, how many operations of several ranks there are on it. NULL: no memory. */
static int64_t *count_uses(const struct job *job)
{
    int64_t *uses = array_new(job->communicator_count, sizeof *uses);
    for (size_t i = 0; uses && i < job->instance_count; i++)
        uses[job->instances[i].communicator] += job->instances[i].members > 1;
    return uses;
}

/* Who has no line about its making: of a communicator of all ranks each of those lacks; of another some one.
 * Both are in order of rank. */
static int take_absent(const struct making *making, struct finding *finding, int *has_trace)
{
    const struct job *job = making->job;
    size_t start = 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        if (start < making->count && making->starts[start].rank == (int32_t)i) {
            start++;
            continue;
        }
        *has_trace |= job->ranks[i].process_id >= 0;
        if (finding_add_candidate(finding, (int32_t)i))
            return -1;
    }
    return 0;
}

static enum unmade unmade_of(const struct making *making, const struct finding *finding, int has_trace)
{
    const struct job *job = making->job;
    if (!finding->candidate_count) /* who lacks is in no list of ranks */
        return UNMADE_STUCK;
    if ((int64_t)job->rank_count != job->communicators[making->communicator].size)
        return UNMADE_ONE_OF;
    return has_trace ? UNMADE_ABSENT : UNMADE_UNSEEN;
}

static int take_stuck(const struct making *making, struct finding *finding)
{
    for (size_t i = 0; i < making->count; i++)
        if (making->starts[i].told.is_complete ? finding_add_peer(finding, making->starts[i].rank)
                                               : finding_add_candidate(finding, making->starts[i].rank))
            return -1;
    return 0;
}

static int take_waiting(const struct making *making, struct finding *finding)
{
    for (size_t i = 0; i < making->count; i++)
        if (finding_add_peer(finding, making->starts[i].rank))
            return -1;
    return 0;
}

/* "ncclCommInitRank on communicator {0-7}: 4 of 8 ranks reached Init COMPLETE, 4 are stuck after Init START"
 */
static int say_counts(const struct making *making, struct finding *finding)
{
    const struct job *job = making->job;
    const struct job_communicator *communicator = &job->communicators[making->communicator];
    const char *function = job_tag(job, making->starts[0].function);
    size_t stuck = making->count - making->complete;
    int64_t absent = communicator->size - (int64_t)making->count;
    struct buffer *text = &finding->evidence;
    figures_add(&finding->figures, "ranks_complete", (double)making->complete);
    figures_add(&finding->figures, "ranks_stuck", (double)stuck);
    figures_add(&finding->figures, "ranks_without_line", (double)absent);
    return buffer_append_text(text, function ? function : "Initialization") ||
           text_on_communicator(text, communicator) ||
           buffer_printf(text, ": %zu of %lld ranks reached Init COMPLETE, %zu are stuck after Init START",
                         making->complete, (long long)communicator->size, stuck) ||
           (absent > 0 && buffer_printf(text, ", %lld ha%s no line about it in these logs", (long long)absent,
                                        absent == 1 ? "s" : "ve"));
}

#define BOOTSTRAP ". The other ranks wait in the bootstrap, which no rank leaves before all ranks have joined"

static int say_meaning(enum unmade unmade, struct buffer *text)
{
    static const char *const meanings[] = {
        [UNMADE_ABSENT] = BOOTSTRAP,
        [UNMADE_UNSEEN] = BOOTSTRAP ". A rank without a line has not joined, or its log is not among these",
        [UNMADE_ONE_OF] = BOOTSTRAP ". The logs do not show which ranks are in the communicator",
        [UNMADE_STUCK] = ". The log does not show which rank, card or link delays the others"};
    return buffer_append_text(text, meanings[unmade]);
}

static int name_stuck(const struct making *making, struct findings *findings)
{
    const struct job_communicator *communicator = &making->job->communicators[making->communicator];
    int is_waited_for = !making->has_met && (int64_t)making->count < communicator->size, has_trace = 0;
    struct finding *finding = findings_add(findings);
    if (!finding)
        return -1;
    finding->kind = FINDING_MISSING;
    finding->confidence = CONFIDENCE_MEDIUM;
    finding->stops_job = 1;
    if (is_waited_for && take_absent(making, finding, &has_trace))
        return -1;
    finding->unmade = unmade_of(making, finding, has_trace);
    if (finding->unmade == UNMADE_STUCK ? take_stuck(making, finding) : take_waiting(making, finding))
        return -1;
    finding->rank = finding->candidates[0];
    finding_ask(findings, finding, RULE_STUCK_IN_START, (double)finding->candidate_count);
    finding_ask(findings, finding, RULE_NO_TRACE, finding->unmade == UNMADE_UNSEEN);
    if (finding->candidate_count == 1)
        finding->candidate_count = 0;
    return say_counts(making, finding) || say_meaning(finding->unmade, &finding->evidence);
}

/* The last of a rank's largest communicators that all its ranks of whom logs tell got through with. */
struct made {
    int32_t communicator;
    int64_t size; /* 0: none */
    int64_t order;
};

static void take_made(const struct making *making, struct made *made)
{
    int64_t size = making->job->communicators[making->communicator].size;
    for (size_t i = 0; i < making->count && making->complete == making->count; i++) {
        const struct job_start *start = &making->starts[i];
        struct made *of = &made[start->rank];
        if (size > of->size || (size == of->size && start->order > of->order))
            *of = (struct made){start->communicator, size, start->order};
    }
}

/* By rank. NULL: no memory. */
static struct made *collect_made(const struct job *job)
{
    struct made *made = array_new(job->rank_count, sizeof *made);
    for (size_t begin = 0; made && begin < job->start_count;) {
        struct making making = making_of(job, begin);
        begin += making.count;
        take_made(&making, made);
    }
    return made;
}

/* Whether its ranks made one as large together later, as after a restart whose log goes on behind the first:
 * who is stuck makes no other. */
static int is_made_anew(const struct making *making, const struct made *made)
{
    const struct made *first = &made[making->starts[0].rank];
    if (first->size < making->job->communicators[making->communicator].size)
        return 0;
    for (size_t i = 0; i < making->count; i++) {
        const struct made *of = &made[making->starts[i].rank];
        if (!of->size || of->communicator != first->communicator || of->order <= making->starts[i].order)
            return 0;
    }
    return 1;
}

/* Whether a rank is stuck in it, and it is neither over nor merely lines of it that are lost. */
static int is_unmade(const struct making *making, const int64_t *uses, const struct made *made)
{
    return making->complete < making->count &&
           (double)uses[making->communicator] <= limit_of(LIMIT_FIRST_CALLS) && !is_made_anew(making, made);
}

static int64_t first_order(const struct making *making)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < making->count; i++)
        first = making->starts[i].order < first ? making->starts[i].order : first;
    return first;
}

/* The first of them that a log has, and how many. */
static size_t find_first(const struct job *job, const int64_t *uses, const struct made *made,
                         struct making *first)
{
    size_t count = 0;
    for (size_t begin = 0; begin < job->start_count;) {
        struct making making = making_of(job, begin);
        begin += making.count;
        if (!is_unmade(&making, uses, made))
            continue;
        if (!count || first_order(&making) < first_order(first))
            *first = making;
        count++;
    }
    return count;
}

static int say_others(size_t count, struct findings *findings)
{
    struct finding *finding = &findings->items[findings->count - 1];
    figures_add(&finding->figures, "communicators_unmade", (double)count);
    return count > 1 && buffer_printf(&finding->evidence, ". %zu more communicator%s being initialized",
                                      count - 1, count == 2 ? " was" : "s were");
}

int find_unmade(const struct job *job, struct findings *findings)
{
    struct making first = {0};
    /* Who surely stopped the job does not come to communicators, either. */
    if (findings_stop_surely(findings))
        return 0;
    int64_t *uses = count_uses(job);
    struct made *made = collect_made(job);
    size_t count = uses && made ? find_first(job, uses, made, &first) : 0;
    int failed = !uses || !made || (count && (name_stuck(&first, findings) || say_others(count, findings)));
    free(uses);
    free(made);
    return failed ? -1 : 0;
}
