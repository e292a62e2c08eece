#include "analyse/steps_map.h"

#include "analyse/option.h"

#include <stdlib.h>
#include <string.h>

static const struct column columns[] = {
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
    AT_STEP,
    AT_DURATION,
    AT_LONGER,
    AT_WAITING,
    AT_OWN,
    AT_FINDING,
    AT_RUN,
    COLUMN_COUNT
};

/* The words of --value and the columns that they draw. */
static const struct {
    const char *word;
    int column;
} drawn[STEPS_MAP_VALUES] = {{"length", AT_LONGER}, {"waiting", AT_WAITING}, {"own", AT_OWN}};

const char *steps_map_word(size_t number)
{
    return number < STEPS_MAP_VALUES ? drawn[number].word : NULL;
}

const char *steps_map_title(size_t number)
{
    return columns[drawn[number].column].description;
}

int64_t steps_map_ns(const struct rank_step *of, size_t number, int64_t usual_ns)
{
    switch (drawn[number].column) {
    case AT_WAITING:
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
            return columns[drawn[i].column].name;
    return NULL;
}

/* Each once. */
static void draw(struct drawing *drawing, const char *column)
{
    for (size_t i = 0; i < drawing->count; i++)
        if (drawing->columns[i] == column)
            return;
    drawing->columns[drawing->count++] = column;
}

int steps_map_begin(const char *list, struct analysis_result *result, struct error *error)
{
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t length = strcspn(at, ",");
        const char *column = column_of(at, length);
        if (!column)
            return error_set(error, "invalid --value '%.*s': expected length, waiting or own", (int)length,
                             at);
        draw(&result->drawing, column);
    }
    return table_add_columns(&result->table, columns, COLUMN_COUNT, error);
}

static void set_time(struct table *table, size_t column, int64_t ns)
{
    if (ns != TIME_UNKNOWN)
        table_set_real(table, column, (double)ns / 1e3);
}

/* The finding that covers a step of a rank and costs most; NULL. */
static const struct finding *covering(const struct findings *findings, int32_t rank, int32_t step)
{
    const struct finding *best = NULL;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding_is_told(finding) && finding_has_rank(finding, rank) && finding_has_step(finding, step) &&
            (!best || finding->lost_ns > best->lost_ns))
            best = finding;
    }
    return best;
}

/* What the rows of a job are made of. */
struct source {
    const struct job *job;
    const struct findings *findings;
    const struct rank_step *steps;
    int64_t usual_ns;
};

static int add_step(const struct source *source, int32_t rank, int32_t step, struct table *table,
                    struct error *error)
{
    const struct job *job = source->job;
    const struct job_rank *who = &job->ranks[rank];
    const struct rank_step *of = &source->steps[(size_t)rank * (size_t)job->step_count + (size_t)step];
    const struct finding *finding = covering(source->findings, rank, step);
    int64_t usual_ns = source->usual_ns;
    if (table_add_row(table, error))
        return -1;
    if (who->global_rank >= 0)
        table_set_integer(table, AT_RANK, who->global_rank);
    table_set_integer(table, AT_STEP, step);
    set_time(table, AT_DURATION, of->duration_ns);
    for (size_t i = 0; i < STEPS_MAP_VALUES; i++)
        if (drawn[i].column != AT_LONGER || usual_ns != TIME_UNKNOWN)
            set_time(table, (size_t)drawn[i].column, steps_map_ns(of, i, usual_ns));
    table_set_integer(table, AT_RUN, job->run_id);
    return table_set_text(table, AT_PROCESS, who->name, error) ||
                   (who->facts.host && table_set_text(table, AT_HOST, who->facts.host, error)) ||
                   (finding && table_set_text(table, AT_FINDING, finding_kind_name(finding->kind), error))
               ? -1
               : 0;
}

int steps_map_add(const struct job *job, const struct baseline *baseline, const struct findings *findings,
                  int64_t usual_ns, struct table *table, struct error *error)
{
    struct rank_step *steps = rank_steps_new(job, baseline);
    struct source source = {.job = job, .findings = findings, .steps = steps, .usual_ns = usual_ns};
    int failed = steps ? 0 : error_no_memory(error);
    for (int32_t rank = 0; rank < (int32_t)job->rank_count && !failed; rank++)
        for (int32_t step = job->first_step; step < job->step_count && !failed; step++)
            failed = add_step(&source, rank, step, table, error);
    free(steps);
    return failed ? -1 : 0;
}
