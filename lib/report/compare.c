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

enum { OPTION_FAIL_OVER, OPTION_NETWORK_NOISE, OPTION_ALL, OPTION_HTML };

#define NETWORK_NOISE "50"

static const struct analysis_option options[] = {
    {"fail-over", 0, "PERCENT",
     "exit with 3 if, beyond noise, steps, a phase, gap time or a finding cost over PERCENT more in B than "
     "in A; with 4 if that cannot be determined",
     NULL},
    {"network-noise", 0, "PERCENT",
     "expected difference of network transfer times between clean runs of the same job", NETWORK_NOISE},
    {"all", 'a', NULL, "show every comparison in a table (JSON and CSV always do)", NULL},
    {"html", 0, "FILE",
     "also write a page with every comparison and the findings of each run; - for standard output", NULL},
};

static const struct column columns[] = {
    {.name = "what",
     .type = CELL_TEXT,
     .description =
         "step, communication, waiting, phase, transfer, bandwidth, edge, own, own_phase or finding"},
    {.name = "key",
     .type = CELL_TEXT,
     .description = "the phase, the function or the ranks that are compared"},
    {.name = "unit", .type = CELL_TEXT, .description = "unit of a, b and change: us, % or GB/s"},
    {.name = "a", .type = CELL_REAL, .decimals = 1, .description = "in A: median of the baseline steps"},
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
    return kind == SERIES_COMMUNICATION || kind == SERIES_WAITING ? "%" : "us";
}

static void set_who(const struct comparison *of, struct table *table)
{
    const struct step_series *series = of->series[0] ? of->series[0] : of->series[1];
    const struct measured_finding *found = of->found[1] ? of->found[1] : of->found[0];
    if (found)
        set_number(table, AT_RANK, found->rank);
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
    const struct measured_finding *found = of->found[1] ? of->found[1] : of->found[0];
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
    set_real(table, AT_CHANGE_PERCENT, comparison_change_percent(of));
    set_real(table, AT_NOISE_PERCENT, comparison_noise_percent(of));
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
 * The change of a bandwidth in percent when the transfer time changes by the fraction `noise` in the
 * direction of the row; NAN if the time would become 0 or less.
 */
static double bandwidth_noise(const struct comparison *of, double noise)
{
    double parts = of->change > 0 ? 1 + noise : 1 - noise;
    return parts > 0 ? 100 * noise / parts : (double)NAN;
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
    set_real(table, AT_NOISE_PERCENT, bandwidth_noise(of, comparison_noise_percent(of) / 100));
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

static int measure_run(struct measured_run *run, struct store *store, int64_t run_id, struct table *table,
                       struct error *error)
{
    struct diagnose_options diagnose;
    struct job job;
    struct findings findings = {0};
    struct baseline baseline = {0};
    struct transfer_excess *transfers = NULL;
    if (diagnose_options_usual(&diagnose, store, error) || job_load(&job, store, run_id, error))
        return -1;
    int failed = caution_absent_ranks(&job, table, error) ||
                 findings_find(&findings, &job, &baseline, &transfers, &diagnose, error) ||
                 run_measure(run, &job, &baseline, &findings, error);
    free(transfers);
    baseline_release(&baseline);
    findings_release(&findings);
    job_release(&job);
    return failed;
}

/*
 * Sets *run_id to the run of a side; 0 if its store has no run. If the store has several, one must be named,
 * unless `takes_any` is set.
 */
static int choose_run(const struct analysis_side *side, int number, int takes_any, int64_t *run_id,
                      struct error *error)
{
    int64_t *ids;
    size_t count;
    int failed = 0;
    if (side->run)
        return run_find(side->store, side->run, run_id, error);
    if (job_list(side->store, &ids, &count, error))
        return -1;
    *run_id = !count ? 0 : ids[takes_any && number ? count - 1 : 0];
    if (count > 1 && !takes_any)
        failed = error_set(error, "%s contains %zu runs; name one as STORE:RUN (see: ncclprof info --runs)",
                           number ? "B" : "A", count);
    free(ids);
    return failed;
}

/* Also fills in `compared`, the runs that were chosen. */
static int measure_sides(struct measured_run *runs, struct html_compared *compared,
                         const struct analysis_request *request, struct table *table, struct error *error)
{
    const struct analysis_side own = {.store = request->store};
    for (int i = 0; i < 2; i++) {
        const struct analysis_side *side = request->sides ? &request->sides[i] : &own;
        int64_t run_id = 0;
        if (choose_run(side, i, !request->sides, &run_id, error))
            return -1;
        compared[i] = (struct html_compared){side->store, run_id, i ? "B" : "A"};
        if (!run_id) {
            if (table_add_warning(table, error, "%s contains no operations", i ? "B" : "A"))
                return -1;
        } else if (measure_run(&runs[i], side->store, run_id, table, error)) {
            return error_wrap(error, "cannot measure %s", i ? "B" : "A");
        }
    }
    return 0;
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
    if (add_rows(all, &result->table, error) || caution_bars(all, &result->table, error))
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

static int compare(const struct analysis_request *request, struct measured_run *runs, double percent,
                   double network, struct analysis_result *result, struct buffer *words, struct error *error)
{
    struct comparisons all;
    int failed = comparisons_make(&all, &runs[0], &runs[1], network / 100)
                     ? error_no_memory(error)
                     : show(&all, request, result, words, error);
    if (!failed && !isnan(percent)) {
        enum comparison_answer answer = comparisons_answer(&all, percent);
        result->alarm = answer == ANSWER_SLOWER;
        result->undecided = answer == ANSWER_UNDECIDED;
    }
    result->unjudged = !runs[0].run_name || !runs[1].run_name;
    comparisons_release(&all);
    return failed;
}

/* Writes the page of --html. */
static int write_page(const struct analysis_request *request, const struct html_compared *compared,
                      size_t count, const struct buffer *words, struct analysis_result *result,
                      struct error *error)
{
    const char *path = request->values[OPTION_HTML];
    if (!path)
        return 0;
    result->wrote_output = strcmp(path, "-") == 0;
    return html_write_comparison(path, compared, count, &result->table, words->data ? words->data : "",
                                 error);
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    const char *fail_over = request->values[OPTION_FAIL_OVER];
    struct measured_run runs[2];
    double percent = (double)NAN, network;
    if (read_percent(request->values[OPTION_NETWORK_NOISE], "network-noise", &network, error) ||
        (fail_over && read_percent(fail_over, "fail-over", &percent, error))) {
        *usage = 1;
        return -1;
    }
    struct html_compared compared[2] = {{0}};
    struct buffer words = BUFFER_INIT;
    measured_run_init(&runs[0]);
    measured_run_init(&runs[1]);
    int failed = table_add_columns(&result->table, columns, COLUMN_COUNT, error) ||
                 measure_sides(runs, compared, request, &result->table, error) ||
                 compare(request, runs, percent, network, result, &words, error) ||
                 write_page(request, compared, 2, &words, result, error);
    buffer_release(&words);
    measured_run_release(&runs[0]);
    measured_run_release(&runs[1]);
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
