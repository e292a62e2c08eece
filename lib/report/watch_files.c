/*
 * Decides for the command watch when to poll a job again (which files grew), and keeps the findings and
 * metrics of each run between polls. watch_changes.c compares them.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "input/input.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"
#include "report/watch.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Largest share of a processor for analyzing a job. It leaves a little for checking whether files grew. */
static const double SHARE = 0.018;

struct grown_file {
    char *path; /* owned */
    struct timespec modified;
    off_t bytes;
    ino_t inode;
};

void growth_init(struct growth *growth)
{
    *growth = (struct growth){.files = NULL};
}

static void release_files(struct grown_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(files[i].path);
    free(files);
}

void growth_release(struct growth *growth)
{
    release_files(growth->files, growth->count);
    growth_init(growth);
}

static int by_path(const void *a, const void *b)
{
    const struct grown_file *left = a, *right = b;
    return strcmp(left->path, right->path);
}

/* A file that has been removed in the meantime has no size. */
static int note_file(struct grown_file *file, const char *path)
{
    struct stat status;
    *file = (struct grown_file){.path = strdup(path), .bytes = -1};
    if (stat(path, &status) == 0) {
        file->modified = status.st_mtim;
        file->bytes = status.st_size;
        file->inode = status.st_ino;
    }
    return file->path ? 0 : -1;
}

static struct grown_file *note_files(const struct walk *walk)
{
    struct grown_file *files = array_new(walk->count + 1, sizeof *files);
    for (size_t i = 0; files && i < walk->count; i++)
        if (note_file(&files[i], walk->files[i].path)) {
            release_files(files, i);
            return NULL;
        }
    if (files)
        array_sort(files, walk->count, sizeof *files, by_path);
    return files;
}

/* NULL: there was no such file. */
static const struct grown_file *find_file(const struct grown_file *files, size_t count, const char *path)
{
    const struct grown_file wanted = {.path = (char *)(uintptr_t)path};
    return count ? bsearch(&wanted, files, count, sizeof *files, by_path) : NULL;
}

/* A file that is new or gone has changed. */
static int has_changed(const struct grown_file *before, const struct grown_file *now)
{
    return !before || !now || before->bytes != now->bytes || before->inode != now->inode ||
           memcmp(&before->modified, &now->modified, sizeof now->modified) != 0;
}

/* Whether the names of the files are those of the latest poll. */
static int are_same_names(const struct growth *growth, const struct grown_file *now, size_t count)
{
    if (growth->count != count)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(growth->files[i].path, now[i].path) != 0)
            return 0;
    return 1;
}

static void take_out_unchanged(const struct growth *growth, const struct grown_file *now, size_t count,
                               struct walk *walk)
{
    size_t kept = 0;
    for (size_t i = 0; i < walk->count; i++) {
        const char *path = walk->files[i].path;
        if (has_changed(find_file(growth->files, growth->count, path), find_file(now, count, path))) {
            walk->files[kept++] = walk->files[i];
            continue;
        }
        free(walk->files[i].path);
        free(walk->files[i].realpath);
    }
    walk->count = kept;
}

int growth_look(struct growth *growth, struct walk *walk, struct error *error)
{
    size_t count = walk->count;
    struct grown_file *now = note_files(walk);
    if (!now)
        return error_no_memory(error);
    if (are_same_names(growth, now, count))
        take_out_unchanged(growth, now, count, walk);
    release_files(growth->files, growth->count);
    *growth = (struct growth){.files = now, .count = count};
    return 0;
}

double growth_wait_s(double interval_s, double used_s)
{
    double rest_s = used_s / SHARE - used_s;
    return rest_s > interval_s ? rest_s : interval_s;
}

void pace_init(struct pace *pace, double interval_s, double now_s)
{
    *pace = (struct pace){.interval_s = interval_s,
                          .rests_until_s = now_s,
                          .changed_at_s = now_s,
                          .longest_pause_s = interval_s,
                          .is_behind = 1};
}

void pace_check(struct pace *pace, int has_changed, double now_s)
{
    if (!has_changed) {
        pace->quiet_s = now_s - pace->changed_at_s;
        return;
    }
    if (pace->quiet_s + pace->interval_s > pace->longest_pause_s)
        pace->longest_pause_s = pace->quiet_s + pace->interval_s;
    pace->changed_at_s = now_s;
    pace->quiet_s = 0;
    pace->is_behind = 1;
}

void pace_rest(struct pace *pace, double used_s, double now_s)
{
    double until_s = now_s + growth_wait_s(pace->interval_s, used_s);
    pace->is_behind = 0;
    if (until_s > pace->rests_until_s)
        pace->rests_until_s = until_s;
}

int pace_is_due(const struct pace *pace, double now_s)
{
    return pace->is_behind && (now_s >= pace->rests_until_s || pace->quiet_s >= 2 * pace->longest_pause_s);
}

struct cached_run {
    int64_t id;
    uint64_t files; /* hash of their contents */
    struct finding_snapshot_list findings;
    struct metrics metrics;
};

static void release_run(struct cached_run *run)
{
    finding_snapshot_list_release(&run->findings);
    metrics_release(&run->metrics);
}

static void release_runs(struct cached_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        release_run(&runs[i]);
    free(runs);
}

void verdict_cache_release(struct verdict_cache *cache)
{
    release_runs(cache->runs, cache->count);
    cache->runs = NULL;
    cache->count = 0;
}

static uint64_t mix(uint64_t state, int64_t file_id, const char *digest)
{
    state = hash_mix(state, (uint64_t)file_id);
    for (; digest && *digest; digest++)
        state = hash_mix(state, (unsigned char)*digest);
    return state;
}

static struct cached_run *last_of(struct verdict_cache *list, size_t *capacity, int64_t run_id)
{
    if (list->count && list->runs[list->count - 1].id == run_id)
        return &list->runs[list->count - 1];
    if (array_reserve((void **)&list->runs, capacity, list->count + 1, sizeof *list->runs))
        return NULL;
    struct cached_run *run = &list->runs[list->count++];
    *run = (struct cached_run){.id = run_id};
    metrics_init(&run->metrics);
    return run;
}

static int list_runs(struct verdict_cache *list, struct store *store, struct error *error)
{
    size_t capacity = 0;
    struct statement *files = store_prepare(store, schema_analysis_survey_files, error);
    int row = files ? 1 : -1;
    while (row == 1 && (row = statement_step(files, error)) == 1) {
        struct cached_run *run = last_of(list, &capacity, statement_integer(files, 0));
        if (run)
            run->files = mix(run->files, statement_integer(files, 1), statement_text(files, 2));
        else
            row = error_no_memory(error);
    }
    statement_free(files);
    return row;
}

static int list_others(struct verdict_cache *list, struct store *store, struct error *error)
{
    struct statement *files = store_prepare(store, schema_analysis_survey_other_files, error);
    int row = files ? 1 : -1;
    while (row == 1 && (row = statement_step(files, error)) == 1)
        list->others = mix(list->others, statement_integer(files, 1), statement_text(files, 2));
    statement_free(files);
    return row;
}

static int note(struct finding_snapshot_list *list, const struct finding *finding, const struct job *job)
{
    struct buffer unit = BUFFER_INIT, text = BUFFER_INIT, hosts = BUFFER_INIT, gpus = BUFFER_INIT,
                  action = BUFFER_INIT, because = BUFFER_INIT, command = BUFFER_INIT;
    int failed = finding_name_unit(finding, job, &unit) || finding_append(finding, job, &text) ||
                 finding_list_hosts(finding, job, &hosts) || finding_list_gpus(finding, job, &gpus) ||
                 finding_append_action(finding, job, &action) || causes_append(finding, job, &because) ||
                 finding_append_command(finding, job, &command);
    const struct finding_snapshot snapshot = {.run = job->run_name,
                                              .kind = (char *)(uintptr_t)finding_kind_name(finding->kind),
                                              .unit = unit.data,
                                              .host = hosts.data,
                                              .gpu = gpus.data,
                                              .action = action.data,
                                              .because = because.data,
                                              .phase = (char *)(uintptr_t)job_tag(job, finding->tag),
                                              .confidence =
                                                  (char *)(uintptr_t)confidence_name(finding->confidence),
                                              .text = text.data,
                                              .command = command.data,
                                              .first_step = job_run_step(job, finding->first_step),
                                              .last_step = job_run_step(job, finding->last_step),
                                              .period = finding->period,
                                              .run_step = job_run_steps(job) - 1,
                                              .lost_ns = finding->lost_ns,
                                              .stops_job = finding->stops_job};
    failed = failed || finding_snapshot_list_add(list, &snapshot);
    buffer_release(&unit);
    buffer_release(&text);
    buffer_release(&hosts);
    buffer_release(&gpus);
    buffer_release(&action);
    buffer_release(&because);
    buffer_release(&command);
    return failed;
}

/* Steps that became longer without a culprit are reported like the warning of diagnose. */
static int note_longer_steps(struct finding_snapshot_list *list, const struct judged_run *run,
                             struct error *error)
{
    const struct longer_steps *longer = &run->judgement.longer;
    const struct longer_row *row = longer_steps_alarm(longer) ? longer_steps_unexplained(longer) : NULL;
    struct table table;
    if (!row)
        return 0;
    table_init(&table, "watch");
    table.is_of_one_run = 1; /* the line of watch names the run if there are several */
    int failed = caution_longer_steps(&run->job, &run->baseline, run->transfers, longer, &table, error);
    const struct finding_snapshot snapshot = {.run = run->job.run_name,
                                              .kind = (char *)(uintptr_t) "longer_steps",
                                              .unit = (char *)(uintptr_t) "job",
                                              .confidence =
                                                  (char *)(uintptr_t)confidence_name(CONFIDENCE_MEDIUM),
                                              .text = table.warning_count ? table.warnings[0] : NULL,
                                              .first_step = row->run_first,
                                              .last_step = row->run_last,
                                              .run_step = job_run_steps(&run->job) - 1,
                                              .lost_ns = row->lost_ns};
    if (!failed && snapshot.text && finding_snapshot_list_add(list, &snapshot))
        failed = error_no_memory(error);
    table_release(&table);
    return failed;
}

static int judge(struct cached_run *run, const struct verdict_cache *cache, struct store *store,
                 const struct diagnose_options *options, struct error *error)
{
    struct judged_run judged;
    if (judged_run_init(&judged, store, run->id, options, error))
        return -1;
    int failed = 0;
    findings_sort(&judged.findings);
    for (size_t i = 0; !failed && i < judged.findings.count; i++) {
        const struct finding *finding = &judged.findings.items[i];
        if ((cache->shows_low || finding_is_reported(finding)) &&
            note(&run->findings, finding, judged.judgement.told))
            failed = error_no_memory(error);
    }
    failed = failed || note_longer_steps(&run->findings, &judged, error) ||
             (cache->wants_metrics && run_metrics_add(&run->metrics, &judged, error));
    judged_run_release(&judged);
    return failed;
}

/* Keeps the findings of a run that did not change; returns 0 if there is none. */
static int take_over(struct cached_run *run, struct verdict_cache *before)
{
    for (size_t i = 0; i < before->count; i++)
        if (before->runs[i].id == run->id && before->runs[i].files == run->files) {
            struct cached_run empty = *run;
            *run = before->runs[i];
            before->runs[i] = empty;
            return 1;
        }
    return 0;
}

static int judge_runs(struct verdict_cache *now, struct verdict_cache *before, struct store *store,
                      struct error *error)
{
    struct diagnose_options usual;
    int failed = diagnose_options_usual(&usual, store, MEMORY_MIB, error);
    usual.memory_bytes = now->memory_bytes;
    for (size_t i = 0; !failed && i < now->count; i++)
        if (now->others != before->others || !take_over(&now->runs[i], before))
            failed = judge(&now->runs[i], now, store, &usual, error);
    return failed;
}

int verdict_cache_update(struct verdict_cache *cache, struct store *store, struct error *error)
{
    struct verdict_cache now = {.shows_low = cache->shows_low,
                                .wants_metrics = cache->wants_metrics,
                                .memory_bytes = cache->memory_bytes};
    int failed = list_runs(&now, store, error) || list_others(&now, store, error) ||
                 judge_runs(&now, cache, store, error);
    verdict_cache_release(cache);
    *cache = now;
    return failed ? -1 : 0;
}

int verdict_cache_findings(const struct verdict_cache *cache, struct finding_snapshot_list *findings)
{
    for (size_t i = 0; i < cache->count; i++)
        if (finding_snapshot_list_append(findings, &cache->runs[i].findings))
            return -1;
    return 0;
}

int verdict_cache_metrics(const struct verdict_cache *cache, struct metrics *metrics)
{
    for (size_t i = 0; i < cache->count; i++)
        if (metrics_append(metrics, &cache->runs[i].metrics))
            return -1;
    return 0;
}
