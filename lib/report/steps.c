/*
 * The command steps: a row for each training step, or for each phase of each step, or (--map) for each rank
 * and step.
 */
#include "report/steps.h"
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"

#include <stdlib.h>
#include <string.h>

static const struct column steps_map_columns[] = {
    {.name = "rank", .type = CELL_INTEGER, .description = "global rank, or null if unknown"},
    {.name = "process", .type = CELL_TEXT, .description = "name of that rank"},
    {.name = "host", .type = CELL_TEXT, .description = "host of the rank, if known"},
    {.name = "step", .type = CELL_INTEGER, .description = "training step, from 0"},
    {.name = "duration_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "duration of the step on that rank"},
    {.name = "longer_us", .type = CELL_REAL, .unit = "us", .description = "Step time above baseline"},
    {.name = "waiting_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "Waiting for the last rank to arrive"},
    {.name = "own_us", .type = CELL_REAL, .unit = "us", .description = "Own delay"},
    {.name = "finding",
     .type = CELL_TEXT,
     .description = "finding of diagnose that covers that rank and step"},
    JOB_COLUMN,
};

enum {
    AT_RANK,
    AT_PROCESS,
    AT_HOST,
    STEPS_MAP_AT_STEP,
    STEPS_MAP_AT_DURATION,
    STEPS_MAP_AT_LONGER,
    STEPS_MAP_AT_WAITING,
    AT_OWN,
    STEPS_MAP_AT_FINDING,
    STEPS_MAP_AT_RUN,
    STEPS_MAP_COLUMN_COUNT
};

/* The words of --value and the columns that they draw. */
static const struct {
    const char *word;
    int column;
} drawn[STEPS_MAP_VALUES] = {
    {"length", STEPS_MAP_AT_LONGER}, {"waiting", STEPS_MAP_AT_WAITING}, {"own", AT_OWN}};

const char *steps_map_word(size_t number)
{
    return number < STEPS_MAP_VALUES ? drawn[number].word : NULL;
}

const char *steps_map_title(size_t number)
{
    return steps_map_columns[drawn[number].column].description;
}

int64_t steps_map_ns(const struct rank_step *of, size_t number, int64_t usual_ns)
{
    switch (drawn[number].column) {
    case STEPS_MAP_AT_WAITING:
        return of->waiting_ns;
    case AT_OWN:
        return of->own_ns;
    default:
        return of->duration_ns == TIME_UNKNOWN || usual_ns == TIME_UNKNOWN ? of->duration_ns
                                                                           : of->duration_ns - usual_ns;
    }
}

static const char *column_of(const char *word, size_t length)
{
    for (size_t i = 0; i < STEPS_MAP_VALUES; i++)
        if (strlen(drawn[i].word) == length && strncmp(drawn[i].word, word, length) == 0)
            return steps_map_columns[drawn[i].column].name;
    return NULL;
}

/* Adds a column to the picture unless it is there. */
static void draw(struct drawing *drawing, const char *column)
{
    for (size_t i = 0; i < drawing->count; i++)
        if (drawing->columns[i] == column)
            return;
    drawing->columns[drawing->count++] = column;
}

/*
 * Adds the columns of the table and chooses which are drawn: `list` has comma-separated words. Returns -1
 * with an error if one is unknown.
 */
static int steps_map_begin(const char *list, struct analysis_result *result, struct error *error)
{
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t length = strcspn(at, ",");
        const char *column = column_of(at, length);
        if (!column)
            return error_set(error, "invalid --value '%.*s': expected length, waiting or own", (int)length,
                             at);
        draw(&result->drawing, column);
    }
    return table_add_columns(&result->table, steps_map_columns, STEPS_MAP_COLUMN_COUNT, error);
}

/* A job with its findings and the steps of it that get rows, up to but not including `end`. */
struct shown_steps {
    const struct job *job;
    const struct baseline *baseline;
    const struct findings *findings; /* in steps of `job` */
    int64_t usual_ns;                /* baseline step time of the run; TIME_UNKNOWN */
    int32_t first;
    int32_t end;
};

static void set_time(struct table *table, size_t column, int64_t ns)
{
    if (ns != TIME_UNKNOWN)
        table_set_real(table, column, (double)ns / 1e3);
}

/* The most expensive finding that covers a step of a rank; NULL: none. */
static const struct finding *steps_map_covering(const struct findings *findings, int32_t rank, int32_t step)
{
    const struct finding *best = NULL;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding_is_reported(finding) && finding_has_rank(finding, rank) &&
            finding_has_step(finding, step) && (!best || finding->lost_ns > best->lost_ns))
            best = finding;
    }
    return best;
}

/* The data that the rows of a job are made from. */
struct source {
    const struct shown_steps *shown;
    const struct rank_step *steps;
};

static int steps_map_add_step(const struct source *source, int32_t rank, int32_t step, struct table *table,
                              struct error *error)
{
    const struct job *job = source->shown->job;
    const struct job_rank *who = &job->ranks[rank];
    const struct rank_step *of = &source->steps[(size_t)rank * (size_t)job->step_count + (size_t)step];
    const struct finding *finding = steps_map_covering(source->shown->findings, rank, step);
    int64_t usual_ns = source->shown->usual_ns;
    if (table_add_row(table, error))
        return -1;
    if (who->global_rank >= 0)
        table_set_integer(table, AT_RANK, who->global_rank);
    table_set_integer(table, STEPS_MAP_AT_STEP, job_run_step(job, step));
    set_time(table, STEPS_MAP_AT_DURATION, of->duration_ns);
    for (size_t i = 0; i < STEPS_MAP_VALUES; i++)
        if (drawn[i].column != STEPS_MAP_AT_LONGER || usual_ns != TIME_UNKNOWN)
            set_time(table, (size_t)drawn[i].column, steps_map_ns(of, i, usual_ns));
    table_set_integer(table, STEPS_MAP_AT_RUN, job->run_id);
    return table_set_text(table, AT_PROCESS, who->name, error) ||
                   (who->facts.host && table_set_text(table, AT_HOST, who->facts.host, error)) ||
                   (finding &&
                    table_set_text(table, STEPS_MAP_AT_FINDING, finding_kind_name(finding->kind), error))
               ? -1
               : 0;
}

/* Adds the rows of a job. */
static int steps_map_add(const struct shown_steps *shown, struct table *table, struct error *error)
{
    const struct job *job = shown->job;
    struct rank_step *steps = rank_steps_new(job, shown->baseline);
    struct source source = {.shown = shown, .steps = steps};
    int failed = steps ? 0 : error_no_memory(error);
    for (int32_t rank = 0; rank < (int32_t)job->rank_count && !failed; rank++)
        for (int32_t step = shown->first; step < shown->end && !failed; step++)
            failed = steps_map_add_step(&source, rank, step, table, error);
    free(steps);
    return failed ? -1 : 0;
}

enum { OPTION_BY, OPTION_RUN, OPTION_MAP, OPTION_SVG, OPTION_VALUE, OPTION_ALL, OPTION_MEMORY };

static const struct analysis_option options[] = {
    {"by", 0, "KEY",
     "step: one row per step; tag: one row per phase of each step; tag,rank: one row per phase, step and "
     "rank; rank: one row per rank, over the chosen steps, those at fault first",
     "step"},
    RUN_OPTION,
    {"map", 0, NULL, "draw two heat maps, rank by step: wait time and own delay", NULL},
    {"svg", 0, NULL, "write the heat maps as one SVG document", NULL},
    {"value", 0, "VALUE,...",
     "values to draw: length (step time above baseline), waiting (wait time), own (own delay)",
     "waiting,own"},
    {"all", 'a', NULL, "with --by rank: also name low-confidence findings", NULL},
    MEMORY_OPTION,
};

static const struct column columns[] = {
    {.name = "step", .type = CELL_INTEGER, .description = "training step, from 0"},
    {.name = "begin_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "start of its first operation, after the first operation of the job"},
    {.name = "duration_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "from a rank's first operation to that of its next step, median over ranks"},
    {.name = "longer_us", .type = CELL_REAL, .unit = "us", .description = "duration minus baseline"},
    {.name = "communication_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "time with at least one operation on the rank's GPU, averaged over ranks"},
    {.name = "waiting_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "part of communication spent waiting for the last rank to arrive"},
    {.name = "last_rank",
     .type = CELL_INTEGER,
     .description = "rank that the others waited for most; it may be at fault or delayed by another rank"},
    {.name = "last_process", .type = CELL_TEXT, .hidden = 1, .description = "name of that rank"},
    {.name = "waited_for_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "total time that all other ranks waited for it"},
    {.name = "tag",
     .type = CELL_TEXT,
     .description = "phase that became slower, by at least " MIN_GAIN_PERCENT " % of the baseline step"},
    {.name = "grew_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "by how much the phase became slower, on last_rank or as a mean over ranks"},
    {.name = "finding", .type = CELL_TEXT, .description = "finding of diagnose that covers the step"},
    JOB_COLUMN,
};

enum {
    AT_STEP,
    AT_BEGIN,
    AT_DURATION,
    AT_LONGER,
    AT_COMMUNICATION,
    AT_WAITING,
    AT_LAST_RANK,
    AT_LAST_PROCESS,
    AT_WAITED_FOR,
    AT_TAG,
    AT_GREW,
    AT_FINDING,
    AT_RUN,
    COLUMN_COUNT
};

static const struct column phase_columns[] = {
    {.name = "step", .type = CELL_INTEGER, .description = "training step, from 0"},
    {.name = "tag", .type = CELL_TEXT, .description = "phase: the user tag that was set"},
    {.name = "duration_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "sum over its operations, each from the end of the previous operation to its own end; "
                    "without operations, from its tag to the next one; mean over ranks"},
    {.name = "longer_us", .type = CELL_REAL, .unit = "us", .description = "duration minus baseline"},
    {.name = "exposed_us",
     .type = CELL_REAL,
     .unit = "us",
     .description =
         "part of the duration that is part of the step: without operations, only the time in which "
         "the GPU waited for the host"},
    JOB_COLUMN,
};

/* The last columns, if ranks have rows of their own. */
static const struct column phase_rank_columns[] = {RANK_COLUMN, PROCESS_COLUMN};

enum {
    PHASE_STEP,
    PHASE_TAG,
    PHASE_DURATION,
    PHASE_LONGER,
    PHASE_EXPOSED,
    PHASE_RUN,
    PHASE_RANK,
    PHASE_PROCESS
};
enum { PHASE_COLUMNS = PHASE_RANK };

struct settings {
    struct diagnose_options diagnose;
    struct rank_choice choice; /* for by_rank */
    int by_tag;
    int by_rank; /* with by_tag: a row for each phase, step and rank; alone: a row for each rank */
    int as_map;
};

/* The most expensive finding that covers a step; NULL: none. */
static const struct finding *covering(const struct findings *findings, int32_t step)
{
    const struct finding *best = NULL;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding_is_reported(finding) && finding_has_step(finding, step) &&
            (!best || finding->lost_ns > best->lost_ns))
            best = finding;
    }
    return best;
}

static int set_finding(const struct job *job, const struct finding *finding, struct table *table,
                       struct error *error)
{
    struct buffer text = BUFFER_INIT;
    if (!finding)
        return 0;
    int failed = buffer_printf(&text, "%s, ", finding_kind_name(finding->kind)) ||
                         finding_name_accused(finding, job, &text)
                     ? error_no_memory(error)
                     : table_set_text(table, AT_FINDING, text.data, error);
    buffer_release(&text);
    return failed;
}

static int set_last(const struct job *job, const struct step_summary *summary, struct table *table,
                    struct error *error)
{
    if (summary->last_rank < 0)
        return 0;
    const struct job_rank *rank = &job->ranks[summary->last_rank];
    if (rank->global_rank >= 0)
        table_set_integer(table, AT_LAST_RANK, rank->global_rank);
    set_time(table, AT_WAITED_FOR, summary->last_waited_ns);
    return table_set_text(table, AT_LAST_PROCESS, rank->name, error);
}

/*
 * A phase is named if its excess is at least the smallest cost of a finding, as a share of the baseline step.
 */
static int add_step(const struct job *job, int32_t step, const struct step_summary *summary,
                    int64_t origin_ns, const struct findings *findings, double min_gain, struct table *table,
                    struct error *error)
{
    int has_usual = summary->usual_ns != TIME_UNKNOWN;
    int has_grown = has_usual && (double)summary->phase_excess_ns >= min_gain * (double)summary->usual_ns;
    const char *tag = has_grown ? job_tag(job, summary->tag) : NULL;
    if (table_add_row(table, error))
        return -1;
    table_set_integer(table, AT_STEP, job_run_step(job, step));
    if (summary->begin_ns != TIME_UNKNOWN)
        set_time(table, AT_BEGIN, summary->begin_ns - origin_ns);
    set_time(table, AT_DURATION, summary->duration_ns);
    if (has_usual && summary->duration_ns != TIME_UNKNOWN)
        set_time(table, AT_LONGER, summary->duration_ns - summary->usual_ns);
    set_time(table, AT_COMMUNICATION, summary->communication_ns);
    set_time(table, AT_WAITING, summary->waiting_ns);
    if (has_grown)
        set_time(table, AT_GREW, summary->phase_excess_ns);
    table_set_integer(table, AT_RUN, job->run_id);
    return set_last(job, summary, table, error) || (tag && table_set_text(table, AT_TAG, tag, error)) ||
           set_finding(job, covering(findings, step), table, error);
}

/* The earliest begin of all steps; TIME_UNKNOWN. */
static int64_t origin_of(const struct job *job, const struct step_summary *summaries)
{
    int64_t origin_ns = TIME_UNKNOWN;
    for (int32_t step = job->first_step; step < job->step_count; step++)
        if (summaries[step].begin_ns != TIME_UNKNOWN &&
            (origin_ns == TIME_UNKNOWN || summaries[step].begin_ns < origin_ns))
            origin_ns = summaries[step].begin_ns;
    return origin_ns;
}

/*
 * Whether the rank that was waited for, or the phase that became longer, is another one than that of the
 * finding.
 */
static int differs_from_finding(const struct job *job, const struct step_summary *summary, int32_t step,
                                const struct findings *findings, double min_gain)
{
    const struct finding *finding = covering(findings, step);
    int has_grown = summary->usual_ns != TIME_UNKNOWN &&
                    (double)summary->phase_excess_ns >= min_gain * (double)summary->usual_ns &&
                    job_tag(job, summary->tag);
    return finding && ((summary->last_rank >= 0 && !finding_has_rank(finding, summary->last_rank)) ||
                       (has_grown && summary->tag != finding->tag));
}

static const char differing[] =
    "Columns last_rank and tag differ from the finding in some steps. They name the rank that others waited "
    "for "
    "and the phase that became longer over all ranks, waits included. The fault can be in an earlier phase, "
    "in "
    "several phases, or in another rank that delayed the last one. 'steps --by rank' shows the ranks at "
    "fault.";

static int add_rows(const struct shown_steps *shown, const struct step_summary *summaries, double min_gain,
                    struct table *table, struct error *error)
{
    const struct job *job = shown->job;
    int64_t origin_ns = origin_of(job, summaries);
    int failed = 0;
    for (int32_t step = shown->first; !failed && step < shown->end; step++) {
        failed = add_step(job, step, &summaries[step], origin_ns, shown->findings, min_gain, table, error);
        if (differs_from_finding(job, &summaries[step], step, shown->findings, min_gain))
            table->legend = differing;
    }
    return failed;
}

static int add_steps(const struct shown_steps *shown, const struct settings *settings, struct table *table,
                     struct error *error)
{
    const struct job *job = shown->job;
    if (settings->by_rank)
        return steps_by_rank_add(&settings->choice, job, shown->baseline, shown->findings, table, error);
    if (!settings->as_map && !job->has_global_ranks)
        table->columns[AT_LAST_PROCESS].hidden = 0;
    struct step_summary *summaries = step_summaries_new(job, shown->baseline);
    if (!summaries)
        return error_no_memory(error);
    for (int32_t step = 0; step < job->step_count; step++)
        summaries[step].usual_ns = shown->usual_ns;
    int failed = settings->as_map
                     ? steps_map_add(shown, table, error)
                     : step_summaries_find_phases(summaries, job, settings->diagnose.min_gain, error) ||
                           add_rows(shown, summaries, settings->diagnose.min_gain, table, error);
    free(summaries);
    return failed ? -1 : 0;
}

static int by_step(const void *a, const void *b)
{
    const struct phase_time *left = a, *right = b;
    if (left->step != right->step)
        return left->step < right->step ? -1 : 1;
    if (left->tag != right->tag)
        return left->tag < right->tag ? -1 : 1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static int set_phase_rank(const struct job *job, int32_t number, struct table *table, struct error *error)
{
    const struct job_rank *rank = &job->ranks[number];
    if (rank->global_rank >= 0)
        table_set_integer(table, PHASE_RANK, rank->global_rank);
    return table_set_text(table, PHASE_PROCESS, rank->name, error);
}

static int add_phase(const struct job *job, const struct phase_time *time, struct table *table,
                     struct error *error)
{
    const char *tag = job_tag(job, time->tag);
    if (table_add_row(table, error))
        return -1;
    table_set_integer(table, PHASE_STEP, job_run_step(job, time->step));
    set_time(table, PHASE_DURATION, time->time_ns);
    set_time(table, PHASE_LONGER, time->time_ns - time->usual_ns);
    set_time(table, PHASE_EXPOSED, time->exposed_ns);
    table_set_integer(table, PHASE_RUN, job->run_id);
    return (tag && table_set_text(table, PHASE_TAG, tag, error)) ||
           (time->rank >= 0 && set_phase_rank(job, time->rank, table, error));
}

/* Steps outside of `first` up to but not including `end` get no rows. */
static int add_phases(const struct job *job, int by_rank, int32_t first, int32_t end, struct table *table,
                      struct error *error)
{
    struct phase_times times;
    int failed = phase_times_init(&times, job, by_rank ? PHASES_OF_RANKS : PHASES_OF_JOB, error);
    if (!failed && by_rank && !job->has_global_ranks)
        table->columns[PHASE_PROCESS].hidden = 0;
    array_sort(times.items, times.count, sizeof *times.items, by_step);
    for (size_t i = 0; !failed && i < times.count; i++)
        if (times.items[i].step >= first && times.items[i].step < end)
            failed = add_phase(job, &times.items[i], table, error);
    phase_times_release(&times);
    return failed;
}

static int warn(const struct job *job, struct table *table, struct error *error)
{
    if (job->step_count == 0)
        return table_add_warning(table, error, "run %lld: no training steps detected",
                                 (long long)job->run_id);
    return job->timed_operations ? 0
                                 : table_add_warning(table, error,
                                                     "run %lld: the trace has no timestamps: the parts of a "
                                                     "step cannot be determined",
                                                     (long long)job->run_id);
}

static int caution_run_of(const struct job *job, struct table *table, struct error *error)
{
    return warn(job, table, error) || caution_absent_ranks(job, table, error) ||
           caution_inseparable_ranks(job, table, error);
}

static struct shown_steps all_steps(const struct judged_run *run)
{
    return (struct shown_steps){.job = &run->job,
                                .baseline = &run->baseline,
                                .findings = &run->findings,
                                .usual_ns = run->judgement.shares.usual_step_ns,
                                .first = run->job.first_step,
                                .end = run->job.step_count};
}

/* A run that does not fit in memory, while its blocks of steps are shown one after the other. */
struct blocks {
    struct store *store;
    int64_t run_id;
    const struct settings *settings;
    struct step_rows rows;
    struct judged_run judged; /* not of phases, which need no findings */
};

static int add_block(struct blocks *blocks, size_t row, struct table *table, struct error *error)
{
    const struct settings *settings = blocks->settings;
    struct judged_run *judged = &blocks->judged;
    size_t count = 0;
    int32_t first, end;
    struct job_excerpt *excerpts = step_row_excerpts(&blocks->rows, row, &count);
    if (!excerpts)
        return error_no_memory(error);
    if (settings->by_tag) {
        struct job job;
        if (job_load_steps(&job, blocks->store, blocks->run_id, excerpts, count, error))
            return -1;
        step_row_steps(&blocks->rows, row, &job, &first, &end);
        int failed = (row == 0 && caution_run_of(&job, table, error)) ||
                     add_phases(&job, settings->by_rank, first, end, table, error);
        job_release(&job);
        return failed;
    }
    if (judged_run_show(judged, excerpts, count, &settings->diagnose, error))
        return -1;
    struct shown_steps shown = {.job = &judged->job,
                                .baseline = &judged->baseline,
                                .findings = judged_run_shown(judged, error),
                                .usual_ns = judged->judgement.shares.usual_step_ns};
    step_row_steps(&blocks->rows, row, &judged->job, &shown.first, &shown.end);
    shown.first = shown.first > judged->job.first_step ? shown.first : judged->job.first_step;
    shown.end = shown.end < judged->job.step_count ? shown.end : judged->job.step_count;
    return !shown.findings || add_steps(&shown, settings, table, error) ? -1 : 0;
}

static int add_rows_of_blocks(struct blocks *blocks, struct table *table, struct error *error)
{
    int failed = table_add_warning(table, error,
                                   "run %lld: its steps were read in %zu blocks; values above baseline, "
                                   "except longer_us, are relative to "
                                   "the baseline of each block",
                                   (long long)blocks->run_id, blocks->rows.count);
    for (size_t row = 0; !failed && row < blocks->rows.count; row++)
        failed = add_block(blocks, row, table, error);
    return failed;
}

/* A run that hardly exceeds the limit may have been diagnosed as a whole. */
static int add_all_blocks(struct blocks *blocks, struct table *table, struct error *error)
{
    const struct settings *settings = blocks->settings;
    struct judged_run *judged = &blocks->judged;
    if (settings->by_tag)
        return add_rows_of_blocks(blocks, table, error);
    if (judged_run_init(judged, blocks->store, blocks->run_id, &settings->diagnose, error))
        return -1;
    struct shown_steps all = all_steps(judged);
    int failed = caution_run_of(&judged->job, table, error) ||
                 (judged->job.excerpt_count ? add_rows_of_blocks(blocks, table, error)
                                            : add_steps(&all, settings, table, error));
    judged_run_release(judged);
    return failed;
}

/* A row for each rank is a sum over steps: those of --step, or of the findings, as far as they fit. */
static int add_window(struct blocks *blocks, struct table *table, struct error *error)
{
    const struct settings *settings = blocks->settings;
    struct judged_run *judged = &blocks->judged;
    if (judged_run_init(judged, blocks->store, blocks->run_id, &settings->diagnose, error))
        return -1;
    findings_sort(&judged->findings);
    int failed = caution_run_of(&judged->job, table, error) ||
                 judged_run_show_window(judged, settings->choice.filter, &settings->diagnose, error) ||
                 caution_loaded_steps(&judged->job, "own delays and waits are sums over", table, error);
    struct shown_steps shown = {.job = &judged->job,
                                .baseline = &judged->baseline,
                                .findings = failed ? NULL : judged_run_shown(judged, error)};
    failed = !shown.findings || add_steps(&shown, settings, table, error);
    judged_run_release(judged);
    return failed;
}

static int add_large(struct store *store, struct job *names, const struct settings *settings,
                     struct table *table, struct error *error)
{
    struct blocks blocks = {.store = store, .run_id = names->run_id, .settings = settings};
    int failed =
        step_rows_find(&blocks.rows, names, settings->diagnose.memory_bytes / JOB_OPERATION_BYTES, error);
    job_release(names);
    failed = failed || (settings->by_rank && !settings->by_tag ? add_window(&blocks, table, error)
                                                               : add_all_blocks(&blocks, table, error));
    step_rows_release(&blocks.rows);
    return failed ? -1 : 0;
}

static int add_whole(struct store *store, struct job *names, const struct settings *settings,
                     struct table *table, struct error *error)
{
    int64_t run_id = names->run_id;
    struct judged_run run;
    if (settings->by_tag) {
        if (job_load_rest(names, error))
            return -1;
        int failed = caution_run_of(names, table, error) ||
                     add_phases(names, settings->by_rank, INT32_MIN, INT32_MAX, table, error);
        job_release(names);
        return failed;
    }
    job_release(names);
    if (judged_run_init(&run, store, run_id, &settings->diagnose, error))
        return -1;
    struct shown_steps shown = all_steps(&run);
    int failed = caution_run_of(&run.job, table, error) || add_steps(&shown, settings, table, error);
    judged_run_release(&run);
    return failed;
}

/* Of a run that is already loaded and diagnosed, nothing is computed again. */
static int add_run(const struct analysis_request *request, int64_t run_id, const struct settings *settings,
                   struct table *table, struct error *error)
{
    struct judged_run *shared;
    struct job names;
    int is_whole;
    if (shared_run_load_whole(request->shared, request->store, run_id, &settings->diagnose, &shared, error))
        return -1;
    if (shared && !settings->by_tag) {
        struct shown_steps shown = all_steps(shared);
        return caution_run_of(&shared->job, table, error) || add_steps(&shown, settings, table, error);
    }
    if (job_load_names(&names, request->store, run_id, error))
        return -1;
    if (job_is_loaded_whole(&names, settings->diagnose.memory_bytes, &is_whole, error)) {
        job_release(&names);
        return -1;
    }
    return is_whole ? add_whole(request->store, &names, settings, table, error)
                    : add_large(request->store, &names, settings, table, error);
}

static int read_settings(const struct analysis_request *request, struct settings *settings,
                         struct error *error)
{
    const char *by = request->values[OPTION_BY];
    int64_t memory_bytes;
    int has_ranks = strcmp(by, "tag,rank") == 0;
    *settings = (struct settings){
        .choice = {.filter = request->filter, .shows_low = request->values[OPTION_ALL] != NULL},
        .by_tag = has_ranks || strcmp(by, "tag") == 0,
        .by_rank = has_ranks || strcmp(by, "rank") == 0,
        .as_map = request->values[OPTION_MAP] || request->values[OPTION_SVG]};
    if (option_memory(request->values[OPTION_MEMORY], &memory_bytes, error))
        return -1;
    if (!settings->by_tag && !settings->by_rank && strcmp(by, "step") != 0)
        return error_set(error, "invalid --by '%s': expected step, tag, rank or tag,rank", by);
    if ((settings->by_tag || settings->by_rank) && settings->as_map)
        return error_set(error, "--by %s cannot be used with --map", by);
    if ((settings->by_tag || !settings->by_rank) && settings->choice.shows_low)
        return error_set(error, "--all needs --by rank");
    if (!settings->as_map && option_is_given(request, options, OPTION_VALUE))
        return error_set(error, "--value needs --map or --svg");
    return 0;
}

static int begin_table(const struct analysis_request *request, const struct settings *settings,
                       struct analysis_result *result, int *usage, struct error *error)
{
    if (settings->by_tag)
        return table_add_columns(&result->table, phase_columns, PHASE_COLUMNS, error) ||
                       (settings->by_rank && table_add_columns(&result->table, phase_rank_columns, 2, error))
                   ? -1
                   : 0;
    if (settings->by_rank)
        return steps_by_rank_begin(&result->table, error);
    if (!settings->as_map)
        return table_add_columns(&result->table, columns, COLUMN_COUNT, error);
    result->drawing.as_svg = request->values[OPTION_SVG] != NULL;
    *usage = steps_map_begin(request->values[OPTION_VALUE], result, error) != 0;
    return *usage ? -1 : 0;
}

/* The column with the run. */
static int run_column(const struct settings *settings, const struct table *table)
{
    return settings->by_tag                        ? PHASE_RUN
           : settings->as_map || settings->by_rank ? table_find_column(table, "run")
                                                   : AT_RUN;
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct settings settings;
    struct runs runs;
    if (read_settings(request, &settings, error)) {
        *usage = 1;
        return -1;
    }
    if (begin_table(request, &settings, result, usage, error) ||
        diagnose_options_usual(&settings.diagnose, request->store, request->values[OPTION_MEMORY], error) ||
        runs_choose(&runs, request, OPTION_RUN, &result->table, error))
        return -1;
    result->table.columns[run_column(&settings, &result->table)].hidden = runs.count < 2;
    int failed = caution_no_operations(request->store, &runs, &result->table, error);
    for (size_t i = 0; !failed && i < runs.count; i++)
        failed = add_run(request, runs.ids[i], &settings, &result->table, error);
    runs_release(&runs);
    return failed ? -1 : 0;
}

static const char *option_word(size_t option, size_t number)
{
    static const char *const keys[] = {"step", "tag", "rank", "tag,rank"};
    if (option == OPTION_VALUE)
        return steps_map_word(number);
    return option == OPTION_BY && number < sizeof keys / sizeof *keys ? keys[number] : NULL;
}

/* With --by rank, the ranks that are shown are chosen from those of the filters. */
static int reads_filters(const struct analysis_request *request)
{
    return strstr(request->values[OPTION_BY], "rank") != NULL;
}

const struct analysis analysis_steps = {
    .name = "steps",
    .summary = "show the time of each training step and what made it slow",
    .description =
        "One row per training step: start, duration, communication and wait time, the rank that others "
        "waited for most, the phase that became slower, and the finding of diagnose for this step.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .unlisted_filters = FILTER_BIT(FILTER_COMMUNICATOR),
    .word = option_word,
    .is_kept = 1,
    .reads_filters = reads_filters,
    .run = run,
};
