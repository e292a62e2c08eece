/*
 * What ranks report of other ranks: PyTorch's desync report of who did not join or finish
 * (find_reported_absence), and processes that do not answer NCCL's RAS (find_ras_unresponsive).
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

/* What is reported of one rank. */
struct reported {
    const struct job_warning *first; /* NULL: nothing is reported */
    int32_t times;                   /* number of ranks that report it */
};

struct absence_reports {
    const struct job *job;
    struct reported *of; /* owned, by rank */
    int32_t reporters;   /* number of ranks with any report */
};

static int is_report(const struct job_warning *warning)
{
    return warning->kind == WARNING_NEVER_JOINED || warning->kind == WARNING_UNFINISHED;
}

/*
 * Whether the rank's own record shows a call that it waits in: it has joined since, or waits for another
 * rank.
 */
static int waits_itself(const struct job *job, int32_t rank)
{
    const struct job_rank *of = &job->ranks[rank];
    for (size_t i = of->first; i < of->first + of->count; i++)
        if (job->operations[i].unfinished)
            return 1;
    return 0;
}

/* Warnings are sorted by rank, so those of one rank are consecutive. */
static void collect(struct absence_reports *reports)
{
    const struct job *job = reports->job;
    int32_t last_reporter = -1;
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        int32_t rank = is_report(warning) ? job_rank_numbered(job, warning->status) : -1;
        if (rank < 0 || (warning->kind == WARNING_NEVER_JOINED && waits_itself(job, rank)))
            continue;
        struct reported *of = &reports->of[rank];
        of->first = of->first ? of->first : warning;
        of->times++;
        reports->reporters += warning->rank != last_reporter;
        last_reporter = warning->rank;
    }
}

static int append_report(const struct job *job, const struct job_warning *warning, struct buffer *text)
{
    return buffer_printf(text, "%s %s reports on all ranks: \"%s\"", text->length ? ". Rank" : "Rank",
                         job->ranks[warning->rank].name, warning->text ? warning->text : "");
}

/* Adds reports about ranks that only the records blame as evidence of their findings. */
static int confirm(struct absence_reports *reports, struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        if (!finding->stops_job || finding->candidate_count || finding->rank_count || finding->rank < 0)
            continue;
        struct reported *of = &reports->of[finding->rank];
        if (!of->first)
            continue;
        finding->warning = finding->warning ? finding->warning : of->first->id;
        if (append_report(reports->job, of->first, &finding->evidence))
            return -1;
        of->first = NULL;
    }
    return 0;
}

static int add_waiting(const struct job *job, struct finding *finding)
{
    for (int32_t i = 0; i < (int32_t)job->rank_count; i++)
        if (waits_itself(job, i) && finding_add_peer(finding, i))
            return -1;
    return 0;
}

/* The ranks that reports of one kind are about. */
struct named {
    int32_t *ranks; /* owned */
    size_t count;
    size_t unrecorded; /* the number of those without a recorded call */
    const struct job_warning *first;
    int32_t least_times;
};

static int list(const struct absence_reports *reports, enum warning_kind kind, struct named *named)
{
    *named = (struct named){.ranks = array_new(reports->job->rank_count, sizeof *named->ranks),
                            .least_times = INT32_MAX};
    for (size_t i = 0; named->ranks && i < reports->job->rank_count; i++) {
        const struct reported *of = &reports->of[i];
        if (!of->first || of->first->kind != kind)
            continue;
        named->ranks[named->count++] = (int32_t)i;
        named->unrecorded += !call_is_recorded(reports->job, (int32_t)i);
        named->first = named->first ? named->first : of->first;
        named->least_times = of->times < named->least_times ? of->times : named->least_times;
    }
    return named->ranks ? 0 : -1;
}

/* Adds one finding for these ranks and takes over their list. */
static int accuse(const struct absence_reports *reports, struct named *named, struct findings *findings)
{
    struct finding *finding = findings_add(findings);
    if (!finding)
        return -1;
    finding->kind = FINDING_MISSING;
    finding->rank = named->ranks[0];
    if (named->count > 1) {
        finding->ranks = named->ranks;
        finding->rank_count = named->count;
        named->ranks = NULL;
    }
    finding->stops_job = 1;
    finding->never_ended = named->first->kind == WARNING_UNFINISHED;
    finding->confidence = CONFIDENCE_HIGH;
    finding->warning = named->first->id;
    finding_ask(findings, finding, RULE_UNRECORDED, named->unrecorded > 0);
    finding_ask(findings, finding, RULE_REPORTS_DIFFER, reports->reporters - named->least_times);
    return add_waiting(reports->job, finding) ||
           append_report(reports->job, named->first, &finding->evidence);
}

/* Removes findings with several candidates, which the records alone could not decide. */
static void forget_candidates(struct findings *findings)
{
    for (size_t i = findings->count; i-- > 0;)
        if (findings->items[i].stops_job && findings->items[i].candidate_count &&
            findings->items[i].kind == FINDING_MISSING)
            findings_remove(findings, i);
}

/* If another rank did not join, a rank that is reported as not finished may only have been seen late. */
static int judge(struct absence_reports *reports, struct findings *findings)
{
    struct named named;
    if (confirm(reports, findings))
        return -1;
    if (findings_explain_stop_confidently(findings))
        return 0;
    int failed = list(reports, WARNING_NEVER_JOINED, &named);
    if (!failed && !named.count) {
        free(named.ranks);
        failed = list(reports, WARNING_UNFINISHED, &named);
    }
    if (!failed && named.count) {
        forget_candidates(findings);
        failed = accuse(reports, &named, findings);
    }
    free(named.ranks);
    return failed ? -1 : 0;
}

int find_reported_absence(const struct job *job, struct findings *findings)
{
    struct absence_reports reports = {.job = job, .of = array_new(job->rank_count, sizeof *reports.of)};
    int failed = !reports.of;
    if (!failed) {
        collect(&reports);
        failed = judge(&reports, findings);
    }
    free(reports.of);
    return failed ? -1 : 0;
}

static int is_member(const struct job *job, const struct job_instance *instance, int32_t rank)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (job_member(job, instance, i)->rank == rank)
            return 1;
    return 0;
}

static int is_seated(const struct job_communicator *communicator, int32_t rank)
{
    for (size_t i = 0; i < communicator->member_list_count; i++)
        if (communicator->member_list[i].rank == rank)
            return 1;
    return 0;
}

/* The first operation of its communicators that it is not known to have launched; -1: none. */
static int32_t first_without(const struct job *job, int32_t rank)
{
    for (size_t i = 0; i < job->instance_count; i++)
        if (is_seated(&job->communicators[job->instances[i].communicator], rank) &&
            !is_member(job, &job->instances[i], rank))
            return (int32_t)i;
    return -1;
}

static int is_accused(const struct findings *findings, int32_t rank)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].rank == rank && findings->items[i].stops_job)
            return 1;
    return 0;
}

/* What RAS reports of a rank that does not answer; NULL: it answers. */
static const struct job_warning *silence_of(const struct job *job, int32_t rank)
{
    const struct job_warning *silent = NULL;
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        if (warning->rank == rank && warning->kind == WARNING_DEAD)
            return warning;
        if (warning->rank == rank && warning->kind == WARNING_SILENT)
            silent = warning;
    }
    return silent;
}

static int say(const struct job_warning *silence, struct buffer *evidence)
{
    char process[48] = "Its process";
    if (silence->pid > 0)
        snprintf(process, sizeof process, "Its process %lld", (long long)silence->pid);
    return buffer_printf(
        evidence,
        silence->kind == WARNING_DEAD
            ? "%s is dead according to NCCL's RAS, which could not reach it for a minute. Its "
              "progress is unknown"
            : "%s does not answer NCCL's RAS, which has its own thread there: the process "
              "is stopped, or its host is unreachable. Its progress is unknown",
        process);
}

/* Where RAS counts no operations at all, there is none that the rank has not launched. */
static int add(const struct job *job, int32_t rank, const struct job_warning *silence,
               enum confidence confidence, struct findings *findings)
{
    int32_t instance = first_without(job, rank);
    if (is_accused(findings, rank))
        return 0;
    enum finding_kind kind = silence->kind == WARNING_DEAD ? FINDING_ENDED_EARLY : FINDING_MISSING;
    struct finding *finding = instance < 0
                                  ? findings_add(findings)
                                  : findings_add_at(findings, job, kind, rank, &job->instances[instance]);
    if (!finding)
        return -1;
    finding->kind = kind;
    finding->rank = rank;
    finding->stops_job = 1;
    finding->confidence = confidence;
    return say(silence, &finding->evidence);
}

int find_ras_unresponsive(const struct job *job, struct findings *findings)
{
    size_t count = 0;
    for (size_t i = 0; job->watch.is_watched && i < job->rank_count; i++)
        count += silence_of(job, (int32_t)i) != NULL;
    enum confidence confidence = 2 * count < job->rank_count ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
    for (size_t i = 0; count && i < job->rank_count; i++) {
        const struct job_warning *silence = silence_of(job, (int32_t)i);
        if (silence && add(job, (int32_t)i, silence, confidence, findings))
            return -1;
    }
    return 0;
}
