#include "analyse/survey.h"

#include "analyse/judged_run.h"
#include "analyse/run_metrics.h"
#include "base/array.h"
#include "base/hash.h"
#include "schemas.h"
#include "store/statement.h"
#include "verdict/finding_names.h"
#include "verdict/finding_text.h"
#include "verdict/longer_steps_text.h"

#include <stdlib.h>
#include <string.h>

struct surveyed_run {
    int64_t id;
    uint64_t files; /* a hash of their contents */
    struct noted_list findings;
    struct metrics metrics;
};

static void release_run(struct surveyed_run *run)
{
    noted_list_release(&run->findings);
    metrics_release(&run->metrics);
}

static void release_runs(struct surveyed_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        release_run(&runs[i]);
    free(runs);
}

void survey_release(struct survey *survey)
{
    release_runs(survey->runs, survey->count);
    survey->runs = NULL;
    survey->count = 0;
}

static uint64_t mix(uint64_t state, int64_t file_id, const char *digest)
{
    state = hash_mix(state, (uint64_t)file_id);
    for (; digest && *digest; digest++)
        state = hash_mix(state, (unsigned char)*digest);
    return state;
}

static struct surveyed_run *last_of(struct survey *list, size_t *capacity, int64_t run_id)
{
    if (list->count && list->runs[list->count - 1].id == run_id)
        return &list->runs[list->count - 1];
    if (array_reserve((void **)&list->runs, capacity, list->count + 1, sizeof *list->runs))
        return NULL;
    struct surveyed_run *run = &list->runs[list->count++];
    *run = (struct surveyed_run){.id = run_id};
    metrics_init(&run->metrics);
    return run;
}

static int list_runs(struct survey *list, struct store *store, struct error *error)
{
    size_t capacity = 0;
    struct statement *files = store_prepare(store, schema_analysis_survey_files, error);
    int row = files ? 1 : -1;
    while (row == 1 && (row = statement_step(files, error)) == 1) {
        struct surveyed_run *run = last_of(list, &capacity, statement_integer(files, 0));
        if (run)
            run->files = mix(run->files, statement_integer(files, 1), statement_text(files, 2));
        else
            row = error_no_memory(error);
    }
    statement_free(files);
    return row;
}

static int list_others(struct survey *list, struct store *store, struct error *error)
{
    struct statement *files = store_prepare(store, schema_analysis_survey_other_files, error);
    int row = files ? 1 : -1;
    while (row == 1 && (row = statement_step(files, error)) == 1)
        list->others = mix(list->others, statement_integer(files, 1), statement_text(files, 2));
    statement_free(files);
    return row;
}

static int note(struct noted_list *list, const struct finding *finding, const struct job *job)
{
    struct buffer unit = BUFFER_INIT, text = BUFFER_INIT;
    int failed = finding_name_unit(finding, job, &unit) || finding_say(finding, job, &text);
    const struct noted noted = {.run = job->run_name,
                                .kind = (char *)(uintptr_t)finding_kind_name(finding->kind),
                                .unit = unit.data,
                                .phase = (char *)(uintptr_t)job_tag(job, finding->tag),
                                .confidence = (char *)(uintptr_t)confidence_name(finding->confidence),
                                .text = text.data,
                                .first_step = finding->first_step,
                                .last_step = finding->last_step,
                                .period = finding->period,
                                .run_step = job->step_count - 1,
                                .lost_ns = finding->lost_ns,
                                .stops_job = finding->stops_job};
    failed = failed || noted_list_add(list, &noted);
    buffer_release(&unit);
    buffer_release(&text);
    return failed;
}

/* Steps that became longer with nobody to blame are told as diagnose warns of them. */
static int note_longer_steps(struct noted_list *list, const struct judged_run *run, struct error *error)
{
    const struct longer_steps *longer = &run->judgement.longer;
    const struct longer_row *row = longer_steps_alarm(longer) ? longer_steps_unexplained(longer) : NULL;
    struct table table;
    if (!row)
        return 0;
    table_init(&table, "watch");
    int failed = caution_longer_steps(&run->job, &run->baseline, run->transfers, longer, &table, error);
    const struct noted noted = {.run = run->job.run_name,
                                .kind = (char *)(uintptr_t) "longer_steps",
                                .unit = (char *)(uintptr_t) "job",
                                .confidence = (char *)(uintptr_t)confidence_name(CONFIDENCE_MEDIUM),
                                .text = table.warning_count ? table.warnings[0] : NULL,
                                .first_step = row->first,
                                .last_step = row->last,
                                .run_step = run->job.step_count - 1,
                                .lost_ns = row->lost_ns};
    if (!failed && noted.text && noted_list_add(list, &noted))
        failed = error_no_memory(error);
    table_release(&table);
    return failed;
}

static int judge(struct surveyed_run *run, const struct survey *survey, struct store *store,
                 const struct diagnose_options *options, struct error *error)
{
    struct judged_run judged;
    if (judged_run_init(&judged, store, run->id, options, error))
        return -1;
    int failed = 0;
    findings_sort(&judged.findings);
    for (size_t i = 0; !failed && i < judged.findings.count; i++) {
        const struct finding *finding = &judged.findings.items[i];
        if ((survey->shows_low || finding_is_told(finding)) && note(&run->findings, finding, &judged.job))
            failed = error_no_memory(error);
    }
    failed = failed || note_longer_steps(&run->findings, &judged, error) ||
             (survey->wants_metrics && run_metrics_add(&run->metrics, &judged, error));
    judged_run_release(&judged);
    return failed;
}

/* What was found in a run that is as it was; 0 where there was none. */
static int take_over(struct surveyed_run *run, struct survey *before)
{
    for (size_t i = 0; i < before->count; i++)
        if (before->runs[i].id == run->id && before->runs[i].files == run->files) {
            struct surveyed_run empty = *run;
            *run = before->runs[i];
            before->runs[i] = empty;
            return 1;
        }
    return 0;
}

static int judge_runs(struct survey *now, struct survey *before, struct store *store, struct error *error)
{
    struct diagnose_options usual;
    int failed = diagnose_options_usual(&usual, store, error);
    for (size_t i = 0; !failed && i < now->count; i++)
        if (now->others != before->others || !take_over(&now->runs[i], before))
            failed = judge(&now->runs[i], now, store, &usual, error);
    return failed;
}

int survey_look(struct survey *survey, struct store *store, struct error *error)
{
    struct survey now = {.shows_low = survey->shows_low, .wants_metrics = survey->wants_metrics};
    int failed = list_runs(&now, store, error) || list_others(&now, store, error) ||
                 judge_runs(&now, survey, store, error);
    survey_release(survey);
    *survey = now;
    return failed ? -1 : 0;
}

int survey_findings(const struct survey *survey, struct noted_list *findings)
{
    for (size_t i = 0; i < survey->count; i++)
        if (noted_list_append(findings, &survey->runs[i].findings))
            return -1;
    return 0;
}

int survey_metrics(const struct survey *survey, struct metrics *metrics)
{
    for (size_t i = 0; i < survey->count; i++)
        if (metrics_append(metrics, &survey->runs[i].metrics))
            return -1;
    return 0;
}
