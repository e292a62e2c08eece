#include "postmortem/late_start.h"

#include "base/array.h"
#include "base/sort.h"
#include "job/start_ups.h"
#include "verdict/words.h"

#include <stdlib.h>

/* One communicator's starts by how long their ranks waited: who came last first. */
struct line_up {
    const struct job *job;
    const struct job_start **starts; /* borrowed */
    size_t count;
    size_t late; /* so many came late, and apart from the others */
};

static int by_wait(const void *a, const void *b)
{
    const struct job_start *left = *(const struct job_start *const *)a;
    const struct job_start *right = *(const struct job_start *const *)b;
    if (left->waited_ns != right->waited_ns)
        return left->waited_ns < right->waited_ns ? -1 : 1;
    return left->rank - right->rank;
}

static int by_rank(const void *a, const void *b)
{
    const int32_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* How much sooner all would have been there, had those come with the first of the others. */
static int64_t gap_before(const struct line_up *line_up, size_t late)
{
    return line_up->starts[late]->waited_ns - line_up->starts[late - 1]->waited_ns;
}

/* Where the line falls apart most. Most of it did not come late: they came, and somebody was early. */
static void find_late(struct line_up *line_up)
{
    line_up->late = 1;
    for (size_t late = 2; late * 2 <= line_up->count; late++)
        if (gap_before(line_up, late) > gap_before(line_up, line_up->late))
            line_up->late = late;
}

/* By rank, the first of its starts. NULL: no memory. */
static int64_t *list_first(const struct job *job)
{
    int64_t *first = array_new(job->rank_count, sizeof *first);
    for (size_t i = 0; first && i < job->rank_count; i++)
        first[i] = INT64_MAX;
    for (size_t i = 0; first && i < job->start_count; i++)
        if (job->starts[i].order < first[job->starts[i].rank])
            first[job->starts[i].rank] = job->starts[i].order;
    return first;
}

static int are_first(const struct line_up *line_up, const int64_t *first)
{
    for (size_t i = 0; i < line_up->late; i++)
        if (line_up->starts[i]->order != first[line_up->starts[i]->rank])
            return 0;
    return 1;
}

static int64_t median_of_others(const struct line_up *line_up, int64_t (*value)(const struct job_start *))
{
    size_t others = line_up->count - line_up->late;
    int64_t *values = array_new(others, sizeof *values);
    if (!values)
        return TIME_UNKNOWN;
    for (size_t i = 0; i < others; i++)
        values[i] = value(line_up->starts[line_up->late + i]);
    int64_t median = select_integer(values, others, others / 2);
    free(values);
    return median;
}

static int64_t kernels_of(const struct job_start *start)
{
    return start->told.parts_ns[START_KERNELS];
}

static int64_t total_of(const struct job_start *start)
{
    return start->told.total_ns;
}

static int64_t waited_of(const struct job_start *start)
{
    return start->waited_ns;
}

/* What the one that came last did longer than the middle one of the others; TIME_UNKNOWN. */
static int64_t longer_than_others(const struct line_up *line_up, int64_t (*value)(const struct job_start *))
{
    int64_t own_ns = value(line_up->starts[0]), usual_ns = median_of_others(line_up, value);
    return own_ns == TIME_UNKNOWN || usual_ns == TIME_UNKNOWN ? TIME_UNKNOWN : own_ns - usual_ns;
}

/* All leave at once: who was there for as long as the others was called with them. Half of what it is late by
 * or more is the cause. */
static int say_cause(const struct line_up *line_up, int64_t gap_ns, struct buffer *text)
{
    int64_t kernels_ns = longer_than_others(line_up, kernels_of),
            total_ns = longer_than_others(line_up, total_of);
    if (kernels_ns != TIME_UNKNOWN && kernels_ns * 2 >= gap_ns)
        return buffer_append_text(text, ". Loading NCCL's kernels took ") || text_time(text, kernels_ns) ||
               buffer_append_text(text, " longer than on the other ranks");
    if (total_ns == TIME_UNKNOWN || total_ns * -2 < gap_ns)
        return 0;
    return buffer_append_text(text, ". The call came ") || text_time(text, -total_ns) ||
           buffer_append_text(text, " later than on the other ranks");
}

/* "ncclCommInitRank on communicator {0-7}: it waited 31.0 ms for the other ranks, which waited 21.3 s to 21.5
 * s for it". */
static int say_waits(const struct line_up *line_up, struct finding *finding)
{
    const struct job *job = line_up->job;
    const struct job_start *last = line_up->starts[0], *next = line_up->starts[line_up->late];
    const char *function = job_tag(job, last->function);
    struct buffer *text = &finding->evidence;
    int several = line_up->late > 1;
    return buffer_append_text(text, function ? function : "Initialization") ||
           text_on_communicator(text, &job->communicators[last->communicator]) ||
           buffer_append_text(text, several ? ": they waited at most " : ": it waited ") ||
           text_time(text, line_up->starts[line_up->late - 1]->waited_ns) ||
           buffer_append_text(text, " for the other ranks, which waited ") ||
           text_time(text, next->waited_ns) || buffer_append_text(text, " to ") ||
           text_time(text, line_up->starts[line_up->count - 1]->waited_ns) ||
           buffer_append_text(text, several ? " for them" : " for it");
}

static void add_figures(const struct line_up *line_up, int64_t gap_ns, struct finding *finding)
{
    double sum_ns = 0;
    for (size_t i = line_up->late; i < line_up->count; i++)
        sum_ns += (double)(line_up->starts[i]->waited_ns - line_up->starts[line_up->late - 1]->waited_ns);
    figures_add_time(&finding->figures, "late_us", gap_ns);
    figures_add_time(&finding->figures, "own_wait_us", line_up->starts[0]->waited_ns);
    figures_add_time(&finding->figures, "peers_wait_us_p50", median_of_others(line_up, waited_of));
    figures_add(&finding->figures, "peers_wait_us", sum_ns / 1e3);
}

static int add_ranks(const struct line_up *line_up, struct finding *finding)
{
    finding->rank = line_up->starts[0]->rank;
    if (line_up->late > 1 && !(finding->ranks = array_new(line_up->late, sizeof *finding->ranks)))
        return -1;
    for (size_t i = 0; line_up->late > 1 && i < line_up->late; i++)
        finding->ranks[finding->rank_count++] = line_up->starts[i]->rank;
    array_sort(finding->ranks, finding->rank_count, sizeof *finding->ranks, by_rank);
    for (size_t i = line_up->late; i < line_up->count; i++)
        if (finding_add_peer(finding, line_up->starts[i]->rank))
            return -1;
    return 0;
}

static int64_t spread_of_others(const struct line_up *line_up)
{
    return line_up->starts[line_up->count - 1]->waited_ns - line_up->starts[line_up->late]->waited_ns;
}

static int name_late(const struct line_up *line_up, struct findings *findings)
{
    int64_t gap_ns = gap_before(line_up, line_up->late);
    struct finding *finding = findings_add(findings);
    if (!finding)
        return -1;
    finding->kind = FINDING_HOST;
    finding->at_start = 1;
    finding->confidence = CONFIDENCE_HIGH;
    finding->lost_ns = gap_ns;
    add_figures(line_up, gap_ns, finding);
    finding_ask(findings, finding, RULE_START_SCATTER, ratio_of(gap_ns, spread_of_others(line_up)));
    return add_ranks(line_up, finding) || say_waits(line_up, finding) ||
           say_cause(line_up, gap_ns, &finding->evidence);
}

/* Those of one communicator, whose waits are all known. */
static int judge(struct line_up *line_up, const int64_t *first, struct findings *findings)
{
    array_sort(line_up->starts, line_up->count, sizeof *line_up->starts, by_wait);
    find_late(line_up);
    if ((double)gap_before(line_up, line_up->late) < limit_of(LIMIT_START_LATE) * 1e9 ||
        !are_first(line_up, first))
        return 0;
    return name_late(line_up, findings);
}

static int judge_all(struct line_up *line_up, const int64_t *first, struct findings *findings)
{
    const struct job *job = line_up->job;
    int failed = 0;
    for (size_t begin = 0, end; !failed && begin < job->start_count; begin = end) {
        for (end = begin;
             end < job->start_count && job->starts[end].communicator == job->starts[begin].communicator;
             end++)
            line_up->starts[end - begin] = &job->starts[end];
        line_up->count = end - begin;
        if (line_up->count > 1 && job->starts[begin].is_told)
            failed = judge(line_up, first, findings);
    }
    return failed;
}

int find_late_starts(const struct job *job, struct findings *findings)
{
    struct line_up line_up = {.job = job, .starts = array_new(job->start_count, sizeof *line_up.starts)};
    int64_t *first = list_first(job);
    int failed = !first || !line_up.starts ? -1 : judge_all(&line_up, first, findings);
    free(line_up.starts);
    free(first);
    return failed ? -1 : 0;
}
