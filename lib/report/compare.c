/*
 * The command compare: what differs between two runs beyond the noise of their steps. compare_measure.c and
 * compare_ranks.c measure each run, comparison.c compares them.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/comparison.h"
#include "report/html.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_BASELINE,
    OPTION_CANDIDATE,
    OPTION_FAIL_OVER,
    OPTION_NETWORK_NOISE,
    OPTION_ALL,
    OPTION_HTML,
    OPTION_MEMORY
};

#define NETWORK_NOISE "50"

static const struct analysis_option options[] = {
    {"baseline", 0, "A...", "repeats of the run to compare with; several runs show how much runs differ",
     NULL},
    {"candidate", 0, "B...", "repeats of the run to compare", NULL},
    {"fail-over", 0, "PERCENT",
     "exit with 3 if, beyond noise, steps, a phase, gap time or a finding cost over PERCENT more in B than "
     "in A; with 4 if the interval of the step time does not exclude that",
     NULL},
    {"network-noise", 0, "PERCENT",
     "without repeats: expected difference of network transfer times between clean runs of the same job",
     NETWORK_NOISE},
    {"all", 'a', NULL, "show every comparison in a table (JSON and CSV always do)", NULL},
    {"html", 0, "FILE",
     "also write a page with every comparison and the findings of each run; - for standard output", NULL},
    MEMORY_OPTION,
};

static const struct column columns[] = {
    {.name = "what",
     .type = CELL_TEXT,
     .description = "step, communication, waiting, overlap, phase, transfer, bandwidth, edge, own, own_phase "
                    "or finding"},
    {.name = "key",
     .type = CELL_TEXT,
     .description = "the phase, the function or the ranks that are compared"},
    {.name = "unit", .type = CELL_TEXT, .description = "unit of a, b and change: us, % or GB/s"},
    {.name = "a",
     .type = CELL_REAL,
     .decimals = 1,
     .description = "in A: median of the baseline steps, mean over repeats"},
    {.name = "b", .type = CELL_REAL, .decimals = 1, .description = "in B"},
    {.name = "change",
     .type = CELL_REAL,
     .decimals = 1,
     .hidden = 1,
     .description = "B minus A; for own time, the change beyond that of the rank's peers"},
    {.name = "change_percent",
     .type = CELL_REAL,
     .unit = "%",
     .decimals = 1,
     .description = "change in % of a; for edges, own times and findings in % of a step of A"},
    {.name = "noise_percent",
     .type = CELL_REAL,
     .unit = "%",
     .decimals = 1,
     .description = "largest change that noise explains, corrected for the number of comparisons"},
    {.name = "low",
     .type = CELL_REAL,
     .unit = "%",
     .decimals = 1,
     .description = "the true change is at least this, in % like change_percent"},
    {.name = "high",
     .type = CELL_REAL,
     .unit = "%",
     .decimals = 1,
     .description = "the true change is at most this"},
    {.name = "detection_limit_percent",
     .type = CELL_REAL,
     .unit = "%",
     .decimals = 1,
     .description = "a true change of this size is beyond noise in nine of ten comparisons"},
    {.name = "significant",
     .type = CELL_INTEGER,
     .description = "1: the change is beyond noise; 0: it is not; null: not compared"},
    {.name = "rule",
     .type = CELL_TEXT,
     .description = "rule that prevents a comparison, or that sets the noise (ncclprof-compare(1))"},
    {.name = "place",
     .type = CELL_TEXT,
     .hidden = 1,
     .description = "for own time: the operation of the step before which it changed most"},
    {.name = "tag", .type = CELL_TEXT, .hidden = 1, .description = "phase, for a phase or finding"},
    {.name = "rank", .type = CELL_INTEGER, .hidden = 1, .description = "rank, for own time or a finding"},
    {.name = "sender", .type = CELL_INTEGER, .hidden = 1, .description = "sender, for an edge"},
    {.name = "receiver", .type = CELL_INTEGER, .hidden = 1, .description = "receiver, for an edge"},
    {.name = "text", .type = CELL_TEXT, .hidden = 1, .description = "for a finding, the text of diagnose"},
};

enum {
    AT_WHAT,
    AT_KEY,
    AT_UNIT,
    AT_A,
    AT_B,
    AT_CHANGE,
    AT_CHANGE_PERCENT,
    AT_NOISE_PERCENT,
    AT_LOW,
    AT_HIGH,
    AT_DETECTION_LIMIT,
    AT_SIGNIFICANT,
    AT_RULE,
    AT_PLACE,
    AT_TAG,
    AT_RANK,
    AT_SENDER,
    AT_RECEIVER,
    AT_TEXT,
    COLUMN_COUNT
};

static void set_real(struct table *table, size_t column, double value)
{
    if (isfinite(value))
        table_set_real(table, column, value);
}

static void set_number(struct table *table, size_t column, int64_t value)
{
    if (value >= 0)
        table_set_integer(table, column, value);
}

static const char *unit_of(int kind)
{
    return kind >= SERIES_COMMUNICATION && kind <= SERIES_OVERLAP ? "%" : "us";
}

static void set_who(const struct comparison *of, struct table *table)
{
    const struct step_series *series = of->series[0] ? of->series[0] : of->series[1];
    if (of->finding)
        set_number(table, AT_RANK, of->finding->rank);
    else if (series->kind == SERIES_RANK)
        set_number(table, AT_RANK, series->rank);
    else {
        set_number(table, AT_SENDER, series->rank);
        set_number(table, AT_RECEIVER, series->receiver);
    }
}

static int set_verdict(const struct comparison *of, struct table *table, struct error *error)
{
    if (of->verdict != COMPARED_NOT)
        table_set_integer(table, AT_SIGNIFICANT, of->verdict == COMPARED_BEYOND);
    return table_set_text(table, AT_RULE, compare_rules[of->rule].name, error);
}

/* Sets the text columns of rows of ranks and of findings. */
static int set_words(const struct comparison *of, struct table *table, struct error *error)
{
    const struct measured_finding *found = of->found[1]   ? of->found[1]
                                           : of->found[0] ? of->found[0]
                                                          : of->finding;
    struct buffer place = BUFFER_INIT;
    int failed = of->kind == SERIES_RANK && comparison_append_place(of, &place) ? error_no_memory(error) : 0;
    failed = failed || (place.length && table_set_text(table, AT_PLACE, place.data, error)) ||
             (of->tag && table_set_text(table, AT_TAG, of->tag, error)) ||
             (found && table_set_text(table, AT_TEXT, found->text, error));
    buffer_release(&place);
    return failed;
}

static int add_row(const struct comparison *of, struct table *table, struct error *error)
{
    if (table_add_row(table, error) || table_set_text(table, AT_WHAT, comparison_name(of->kind), error) ||
        table_set_text(table, AT_KEY, *of->key ? of->key : "all", error) ||
        table_set_text(table, AT_UNIT, unit_of(of->kind), error))
        return -1;
    set_real(table, AT_A, of->values[0]);
    set_real(table, AT_B, of->values[1]);
    set_real(table, AT_CHANGE, of->change);
    set_real(table, AT_CHANGE_PERCENT, comparison_percent(of, of->change));
    set_real(table, AT_NOISE_PERCENT, comparison_percent(of, of->noise));
    set_real(table, AT_LOW, comparison_percent(of, of->change - of->reach));
    set_real(table, AT_HIGH, comparison_percent(of, of->change + of->reach));
    set_real(table, AT_DETECTION_LIMIT, comparison_percent(of, of->detectable));
    set_who(of, table);
    return set_verdict(of, table, error) || set_words(of, table, error);
}

static double bandwidth_of(const struct comparison *of, int side)
{
    const struct step_series *series = of->series[side];
    return series && series->gbs_us > 0 && of->values[side] > 0 ? series->gbs_us / of->values[side]
                                                                : (double)NAN;
}

/*
 * The change of a bandwidth in percent when the transfer time changes by that percentage; NAN if the time
 * would become 0 or less.
 */
static double bandwidth_change(double percent)
{
    return percent > -100 ? 100 * (100 / (100 + percent) - 1) : (double)NAN;
}

/* The size of the change of a bandwidth when the transfer time changes by `percent` in the row's direction.
 */
static double bandwidth_noise(const struct comparison *of, double percent)
{
    return fabs(bandwidth_change(of->change > 0 ? percent : -percent));
}

/* Adds a row for the bandwidth. It restates the transfer row above it and is not tested separately. */
static int add_bandwidth(const struct comparison *of, struct table *table, struct error *error)
{
    double a = bandwidth_of(of, 0), b = bandwidth_of(of, 1);
    if (isnan(a) && isnan(b))
        return 0;
    if (table_add_row(table, error) || table_set_text(table, AT_WHAT, "bandwidth", error) ||
        table_set_text(table, AT_KEY, of->key, error) || table_set_text(table, AT_UNIT, "GB/s", error))
        return -1;
    set_real(table, AT_A, a);
    set_real(table, AT_B, b);
    set_real(table, AT_CHANGE, b - a);
    set_real(table, AT_CHANGE_PERCENT, 100 * (b - a) / a);
    set_real(table, AT_NOISE_PERCENT, bandwidth_noise(of, comparison_percent(of, of->noise)));
    set_real(table, AT_LOW, bandwidth_change(comparison_percent(of, of->change + of->reach)));
    set_real(table, AT_HIGH, bandwidth_change(comparison_percent(of, of->change - of->reach)));
    set_real(table, AT_DETECTION_LIMIT, bandwidth_noise(of, comparison_percent(of, of->detectable)));
    return set_verdict(of, table, error);
}

static int add_rows(const struct comparisons *all, struct table *table, struct error *error)
{
    for (size_t i = 0; i < all->count; i++)
        if (add_row(&all->items[i], table, error) ||
            (all->items[i].kind == SERIES_TRANSFER && add_bandwidth(&all->items[i], table, error)))
            return -1;
    return 0;
}

/* Warns about the bars that prevent comparisons. */
static int caution_bars(const struct comparisons *all, struct table *table, struct error *error)
{
    int failed = 0;
    for (enum compare_rule rule = 0; !failed && rule < COMPARE_RULES; rule++) {
        struct buffer text = BUFFER_INIT;
        if (!(all->barred >> rule & 1) || !compare_rules[rule].is_bar)
            continue;
        failed = comparisons_append_bar(all, rule, &text) ? error_no_memory(error)
                                                          : table_add_warning(table, error, "%s", text.data);
        buffer_release(&text);
    }
    return failed;
}

static int measure_run(struct measured_run *run, struct store *store, int64_t run_id, const char *memory_mib,
                       struct table *table, struct error *error)
{
    struct diagnose_options diagnose;
    struct job job;
    struct findings findings = {0};
    struct baseline baseline = {0};
    struct transfer_excess *transfers = NULL;
    if (diagnose_options_usual(&diagnose, store, memory_mib, error) ||
        job_load_within(&job, store, run_id, diagnose.memory_bytes, error))
        return -1;
    int failed = caution_loaded_steps(&job, "figures and findings are those of", table, error) ||
                 caution_absent_ranks(&job, table, error) ||
                 findings_find(&findings, &job, &baseline, &transfers, &diagnose, error) ||
                 run_measure(run, &job, &baseline, &findings, error);
    free(transfers);
    baseline_release(&baseline);
    findings_release(&findings);
    job_release(&job);
    return failed;
}

/* Says what is assumed if no run is repeated. */
static int caution_single_runs(const struct comparisons *all, struct table *table, struct error *error)
{
    const struct comparison *steps = comparisons_steps(all);
    if (!steps || steps->verdict == COMPARED_NOT || all->sides[0].count + all->sides[1].count > 2)
        return 0;
    return table_add_warning(
        table, error,
        "one run of each side does not show how much runs of the same job differ; a standard deviation of at "
        "least %g %% of the step time is assumed. To measure it, repeat the runs: compare --baseline A1 A2 "
        "--candidate B1 B2",
        100 * compare_limit(COMPARE_RUNS));
}

/* A run to measure. */
struct chosen_run {
    struct store *store;
    int64_t id;
    int is_candidate;
};

/* The runs of both sides, measured; first those of A. */
struct measured_sides {
    struct chosen_run *chosen; /* owned */
    struct measured_run *runs; /* owned */
    size_t count[2];           /* of A and of B */
    size_t capacity;
    int has_stores[2]; /* a store or traces with several runs are on this side */
};

static void measured_sides_release(struct measured_sides *sides)
{
    for (size_t i = 0; sides->runs && i < sides->count[0] + sides->count[1]; i++)
        measured_run_release(&sides->runs[i]);
    free(sides->runs);
    free(sides->chosen);
}

static int add_run(struct measured_sides *sides, struct store *store, int64_t id, int is_candidate,
                   struct error *error)
{
    size_t count = sides->count[0] + sides->count[1];
    if (array_reserve((void **)&sides->chosen, &sides->capacity, count + 1, sizeof *sides->chosen))
        return error_no_memory(error);
    sides->chosen[count] = (struct chosen_run){store, id, is_candidate};
    sides->count[is_candidate]++;
    return 0;
}

/* Adds the run that a side names, or all runs of its store. A store without runs is warned about. */
static int choose_runs(struct measured_sides *sides, const struct analysis_side *side, struct table *table,
                       struct error *error)
{
    int64_t *ids, id;
    size_t count;
    if (side->run)
        return run_find(side->store, side->run, &id, error) ||
               add_run(sides, side->store, id, side->is_candidate, error);
    if (job_list(side->store, &ids, &count, error))
        return -1;
    int failed =
        count ? 0
              : table_add_warning(table, error, "%s contains no operations", side->is_candidate ? "B" : "A");
    for (size_t i = 0; !failed && i < count; i++)
        failed = add_run(sides, side->store, ids[i], side->is_candidate, error);
    sides->has_stores[side->is_candidate] |= count > 1;
    free(ids);
    return failed;
}

/* Adds the first and the last run of a store. */
static int choose_first_and_last(struct measured_sides *sides, struct store *store, struct table *table,
                                 struct error *error)
{
    int64_t *ids;
    size_t count;
    if (job_list(store, &ids, &count, error))
        return -1;
    int failed =
        count ? add_run(sides, store, ids[0], 0, error) || add_run(sides, store, ids[count - 1], 1, error)
              : table_add_warning(table, error, "the store contains no operations");
    free(ids);
    return failed;
}

/* Runs of A come first; otherwise they keep their order. A side without runs gets one without operations. */
static int begin_runs(struct measured_sides *sides, struct error *error)
{
    size_t count = sides->count[0] + sides->count[1], kept = 0;
    struct chosen_run *ordered = array_new(count + 2, sizeof *ordered);
    sides->runs = array_new(count + 2, sizeof *sides->runs);
    if (!ordered || !sides->runs) {
        free(ordered);
        return error_no_memory(error);
    }
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < count; i++)
            if (sides->chosen[i].is_candidate == side)
                ordered[kept++] = sides->chosen[i];
        if (!sides->count[side]) {
            ordered[kept++] = (struct chosen_run){.is_candidate = side};
            sides->count[side] = 1;
        }
    }
    free(sides->chosen);
    sides->chosen = ordered;
    for (size_t i = 0; i < kept; i++)
        measured_run_init(&sides->runs[i]);
    return 0;
}

/* All runs of a store are repeats only if they are runs of the same job. */
static int check_repeats(const struct measured_sides *sides, int side, struct error *error)
{
    const struct measured_run *runs = &sides->runs[side ? sides->count[0] : 0];
    for (size_t i = 1; sides->has_stores[side] && i < sides->count[side]; i++)
        if (comparison_is_blocked(&runs[0], &runs[i], COMPARE_RANKS) ||
            comparison_is_blocked(&runs[0], &runs[i], COMPARE_PROGRAMME))
            return error_set(
                error,
                "%s contains %zu runs of different jobs; name one as STORE:RUN (see: ncclprof info --runs)",
                side ? "B" : "A", sides->count[side]);
    return 0;
}

static int measure_sides(struct measured_sides *sides, const struct analysis_request *request,
                         struct table *table, struct error *error)
{
    int failed = request->sides ? 0 : choose_first_and_last(sides, request->store, table, error);
    for (size_t i = 0; !failed && request->sides && i < request->side_count; i++)
        failed = choose_runs(sides, &request->sides[i], table, error);
    if (failed || begin_runs(sides, error))
        return -1;
    for (size_t i = 0; i < sides->count[0] + sides->count[1]; i++)
        if (sides->chosen[i].store &&
            measure_run(&sides->runs[i], sides->chosen[i].store, sides->chosen[i].id,
                        request->values[OPTION_MEMORY], table, error))
            return error_wrap(error, "cannot measure %s", sides->chosen[i].is_candidate ? "B" : "A");
    return check_repeats(sides, 0, error) || check_repeats(sides, 1, error);
}

/* Filters and --all select the table. */
static int wants_table(const struct analysis_request *request)
{
    const struct filter *filter = request->filter;
    return request->values[OPTION_ALL] ||
           (filter && (filter->rank_count || filter->tag || filter->communicator || filter->host ||
                       filter->sort || filter->top || filter->steps.last != INT64_MAX));
}

static int append_notes(const struct table *table, struct buffer *text)
{
    for (size_t i = 0; i < table->warning_count; i++)
        if (buffer_append_text(text, "note: ") ||
            escape_terminal(text, table->warnings[i], strlen(table->warnings[i])) ||
            buffer_append_byte(text, '\n'))
            return -1;
    return 0;
}

/* Appends the differences in sentences to `words`, which the text output and the page have in common. */
static int show(const struct comparisons *all, const struct analysis_request *request,
                struct analysis_result *result, struct buffer *words, struct error *error)
{
    if (add_rows(all, &result->table, error) || caution_bars(all, &result->table, error) ||
        caution_single_runs(all, &result->table, error))
        return -1;
    if (comparisons_append(all, words) ||
        (!wants_table(request) && (buffer_append(&result->text, words->data, words->length) ||
                                   append_notes(&result->table, &result->text))))
        return error_no_memory(error);
    return 0;
}

/* Reads a percentage; "5%" and "5" are the same. */
static int read_percent(const char *text, const char *name, double *percent, struct error *error)
{
    char number[64];
    size_t length = strlen(text);
    if (length && length < sizeof number && text[length - 1] == '%') {
        memcpy(number, text, length - 1);
        number[length - 1] = '\0';
        text = number;
    }
    return option_real(text, name, 0, 1000000, percent, error);
}

static int is_without_operations(const struct measured_side *side)
{
    for (size_t i = 0; i < side->count; i++)
        if (side->runs[i].run_name)
            return 0;
    return 1;
}

static int compare(const struct analysis_request *request, const struct measured_sides *sides, double percent,
                   double network, struct analysis_result *result, struct buffer *words, struct error *error)
{
    struct comparisons all;
    const struct measured_side a = {sides->runs, sides->count[0]},
                               b = {sides->runs + sides->count[0], sides->count[1]};
    int failed = comparisons_make(&all, a, b, network / 100) ? error_no_memory(error)
                                                             : show(&all, request, result, words, error);
    if (!failed && !isnan(percent)) {
        enum comparison_answer answer = comparisons_answer(&all, percent);
        result->alarm = answer == ANSWER_SLOWER;
        result->undecided = answer == ANSWER_UNDECIDED;
    }
    result->unjudged = is_without_operations(&a) || is_without_operations(&b);
    comparisons_release(&all);
    return failed;
}

/* Writes the page of --html, with the verdicts of all runs. */
static int write_page(const struct analysis_request *request, const struct measured_sides *sides,
                      const struct buffer *words, struct analysis_result *result, struct error *error)
{
    const char *path = request->values[OPTION_HTML];
    size_t count = sides->count[0] + sides->count[1];
    if (!path)
        return 0;
    struct html_compared *compared = array_new(count, sizeof *compared);
    if (!compared)
        return error_no_memory(error);
    for (size_t i = 0; i < count; i++)
        compared[i] =
            (struct html_compared){sides->chosen[i].store, sides->chosen[i].id,
                                   sides->chosen[i].is_candidate ? "B" : "A", request->values[OPTION_MEMORY]};
    result->wrote_output = strcmp(path, "-") == 0;
    const char *command = request->command ? request->command : "ncclprof compare --all";
    int failed = html_write_comparison(path, compared, count, &result->table, words->data ? words->data : "",
                                       command, error);
    free(compared);
    return failed;
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    const char *fail_over = request->values[OPTION_FAIL_OVER];
    struct measured_sides sides = {.runs = NULL};
    struct buffer words = BUFFER_INIT;
    double percent = (double)NAN, network;
    int64_t memory_bytes;
    if (option_memory(request->values[OPTION_MEMORY], &memory_bytes, error) ||
        read_percent(request->values[OPTION_NETWORK_NOISE], "network-noise", &network, error) ||
        (fail_over && read_percent(fail_over, "fail-over", &percent, error))) {
        *usage = 1;
        return -1;
    }
    int failed = table_add_columns(&result->table, columns, COLUMN_COUNT, error) ||
                 measure_sides(&sides, request, &result->table, error) ||
                 compare(request, &sides, percent, network, result, &words, error) ||
                 write_page(request, &sides, &words, result, error);
    buffer_release(&words);
    measured_sides_release(&sides);
    return failed ? -1 : 0;
}

const struct analysis analysis_compare = {
    .name = "compare",
    .summary = "show differences between two runs that exceed noise",
    .description =
        "Compares step times, phases, transfers, links, gap times and findings. Tests each difference "
        "against noise; two clean runs of the same job show no difference.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .unlisted_filters = FILTER_BIT(FILTER_STEP) | FILTER_BIT(FILTER_COMMUNICATOR),
    .compares = 1,
    .run = run,
};
