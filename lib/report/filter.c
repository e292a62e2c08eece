/*
 * Options that analyses share: numbers, thresholds, the choice of runs, and the filters (--rank, --step, ...)
 * with their effect on tables.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/internal.h"
#include "report/report.h"
#include "store/store.h"

#include "schemas.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int option_is_given(const struct analysis_request *request, const struct analysis_option *options,
                    size_t option)
{
    return request->values[option] != options[option].fallback;
}

int option_real(const char *text, const char *name, double least, double greatest, double *value,
                struct error *error)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    if (end == text || *end || errno || !(*value >= least && *value <= greatest))
        return error_set(error, "invalid --%s '%s': expected a number from %g to %g", name, text, least,
                         greatest);
    return 0;
}

int option_integer(const char *text, const char *name, int64_t least, int64_t greatest, int64_t *value,
                   struct error *error)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (end == text || *end || errno || *value < least || *value > greatest)
        return error_set(error, "invalid --%s '%s': expected an integer of at least %lld", name, text,
                         (long long)least);
    return 0;
}

/* Reads "A-B" or "A": integers from 0, with A at most B. */
static int option_range(const char *text, const char *name, int64_t *first, int64_t *last,
                        struct error *error)
{
    char *end = NULL;
    errno = 0;
    int is_number = is_digit(*text);
    *first = *last = is_number ? strtoll(text, &end, 10) : 0;
    if (is_number && *end == '-' && is_digit(end[1]))
        *last = strtoll(end + 1, &end, 10);
    if (!is_number || *end || errno || *last < *first)
        return error_set(error, "invalid --%s '%s': expected a number or a range A-B", name, text);
    return 0;
}

static int refuse_key(const char *key, size_t length, const char *const *words, size_t count,
                      struct error *error)
{
    struct buffer list = BUFFER_INIT;
    int failed = buffer_append_text(&list, words[0]);
    for (size_t i = 1; !failed && i < count; i++)
        failed = buffer_printf(&list, i + 1 < count ? ", %s" : " or %s", words[i]);
    failed = failed ? error_no_memory(error)
                    : error_set(error, "invalid --by key '%.*s': expected %s", (int)length, key, list.data);
    buffer_release(&list);
    return failed;
}

static int add_key(const char *key, size_t length, const char *const *words, size_t word_count,
                   size_t *numbers, size_t *count, struct error *error)
{
    size_t number = 0;
    while (number < word_count &&
           (strlen(words[number]) != length || memcmp(words[number], key, length) != 0))
        number++;
    if (number == word_count)
        return refuse_key(key, length, words, word_count, error);
    for (size_t i = 0; i < *count; i++)
        if (numbers[i] == number)
            return error_set(error, "--by contains '%s' twice", words[number]);
    numbers[(*count)++] = number;
    return 0;
}

int option_keys(const char *text, const char *const *words, size_t word_count, size_t *numbers, size_t *count,
                struct error *error)
{
    *count = 0;
    while (*text) {
        size_t length = strcspn(text, ",");
        if (add_key(text, length, words, word_count, numbers, count, error))
            return -1;
        text += length + (text[length] == ',');
    }
    return *count ? 0 : error_set(error, "--by needs at least one key");
}

int option_thresholds(const char *min_gain_percent, const char *sigmas, struct diagnose_options *options,
                      struct error *error)
{
    double percent;
    if (option_real(min_gain_percent, "min-gain", 0, 100, &percent, error) ||
        option_real(sigmas, "sigmas", 0, 1000, &options->sigmas, error))
        return -1;
    options->min_gain = percent / 100;
    return 0;
}

int option_memory(const char *mib, int64_t *memory_bytes, struct error *error)
{
    int64_t count;
    if (option_integer(mib, "memory", 0, INT64_MAX >> 20, &count, error))
        return -1;
    *memory_bytes = count << 20;
    return 0;
}

static const char RULES_OFF[] = "NCCLPROF_RULES_OFF";

const char *option_rules_off_text(void)
{
    return getenv(RULES_OFF);
}

int option_rules_off(struct rule_set *off, struct error *error)
{
    const char *text = option_rules_off_text();
    *off = (struct rule_set){0};
    while (text && *text) {
        size_t length = strcspn(text, ",");
        int rule = rule_find(text, length);
        if (rule < 0)
            return error_set(error, "%s names '%.*s', which is no rule", RULES_OFF, (int)length, text);
        off->has[rule] = 1;
        text += length + (text[length] == ',');
    }
    return 0;
}

int caution_rules_off(struct table *table, struct error *error)
{
    const char *text = option_rules_off_text();
    return text && *text
               ? table_add_warning(table, error, "%s: these rules were not asked: %s", RULES_OFF, text)
               : 0;
}

const struct analysis_option filter_options[FILTER_OPTIONS] = {
    [FILTER_RANK] = {"rank", 0, "LIST", "show only these ranks, e.g. 3, 0-7 or 1,5-6", NULL},
    [FILTER_STEP] = {"step", 0, "A[-B]", "show only step A, or steps A to B", NULL},
    [FILTER_TAG] = {"tag", 0, "TAG", "show only the phase with this user tag", NULL},
    [FILTER_COMMUNICATOR] = {"communicator", 0, "NAME", "show only this communicator, e.g. 0-7 or 5,7", NULL},
    [FILTER_HOST] = {"host", 0, "NAME", "show only ranks on this host", NULL},
    [FILTER_SORT] =
        {"sort", 0, "COLUMN",
         "sort by this column: measured values in descending order, ranks, steps and runs in ascending order",
         NULL},
    [FILTER_TOP] = {"top", 0, "N", "show at most N rows", NULL},
};

static int read_ranks(struct filter *filter, const char *text, struct error *error)
{
    size_t capacity = 0;
    while (*text) {
        char piece[64];
        size_t length = strcspn(text, ",");
        if (array_reserve((void **)&filter->ranks, &capacity, filter->rank_count + 1, sizeof *filter->ranks))
            return error_no_memory(error);
        struct filter_range *range = &filter->ranks[filter->rank_count];
        snprintf(piece, sizeof piece, "%.*s", (int)(length < sizeof piece ? length : sizeof piece - 1), text);
        if (option_range(piece, "rank", &range->first, &range->last, error))
            return -1;
        filter->rank_count++;
        text += length + (text[length] == ',');
    }
    return filter->rank_count ? 0 : error_set(error, "invalid --rank: expected rank numbers");
}

int filter_read(struct filter *filter, const char *const *values, struct error *error)
{
    *filter = (struct filter){.steps = {0, INT64_MAX},
                              .tag = values[FILTER_TAG],
                              .communicator = values[FILTER_COMMUNICATOR],
                              .host = values[FILTER_HOST],
                              .sort = values[FILTER_SORT]};
    if (values[FILTER_RANK] && read_ranks(filter, values[FILTER_RANK], error))
        return -1;
    if (values[FILTER_STEP] &&
        option_range(values[FILTER_STEP], "step", &filter->steps.first, &filter->steps.last, error))
        return -1;
    return values[FILTER_TOP] ? option_integer(values[FILTER_TOP], "top", 1, INT64_MAX, &filter->top, error)
                              : 0;
}

void filter_release(struct filter *filter)
{
    free(filter->ranks);
    free(filter->host_ranks);
    *filter = (struct filter){.ranks = NULL};
}

static int find_host(struct filter *filter, struct store *store, struct error *error)
{
    size_t capacity = 0;
    int row;
    struct statement *statement = store_prepare(store, schema_analysis_filter_host, error);
    if (!statement || statement_bind_text(statement, 1, filter->host, error)) {
        statement_free(statement);
        return -1;
    }
    while ((row = statement_step(statement, error)) == 1) {
        if (array_reserve((void **)&filter->host_ranks, &capacity, filter->host_rank_count + 1,
                          sizeof *filter->host_ranks)) {
            row = error_no_memory(error);
            break;
        }
        filter->host_ranks[filter->host_rank_count++] = statement_integer(statement, 0);
    }
    statement_free(statement);
    if (row == 0 && !filter->host_rank_count)
        return error_set(error, "no rank in the store ran on host '%s'", filter->host);
    return row;
}

/* The value of a filter, to look for in the store: a text, or a range of numbers. */
struct wanted {
    const char *sql;
    const char *what;
    const char *text; /* NULL: the range */
    struct filter_range range;
};

/* Returns -1 with an error that lists what the store has. */
static int refuse_value(const struct wanted *wanted, const char *instead, struct error *error)
{
    const struct filter_range *range = &wanted->range;
    const char *before = instead ? "; " : "", *list = instead ? instead : "";
    if (wanted->text)
        return error_set(error, "no %s '%s' in the store%s%s", wanted->what, wanted->text, before, list);
    if (range->first == range->last)
        return error_set(error, "no %s %lld in the store%s%s", wanted->what, (long long)range->first, before,
                         list);
    return error_set(error, "no %ss %lld-%lld in the store%s%s", wanted->what, (long long)range->first,
                     (long long)range->last, before, list);
}

static int check_value(const struct wanted *wanted, struct store *store, int64_t run_id, struct error *error)
{
    struct statement *statement = store_prepare_for(store, wanted->sql, run_id, error);
    int row = !statement     ? -1
              : wanted->text ? statement_bind_text(statement, 2, wanted->text, error)
                             : statement_bind_integer(statement, 2, wanted->range.first, error) ||
                                   statement_bind_integer(statement, 3, wanted->range.last, error);
    row = row ? -1 : statement_step(statement, error);
    if (row == 1 && !statement_integer(statement, 0))
        row = refuse_value(wanted, statement_text(statement, 1), error);
    statement_free(statement);
    return row < 0 ? -1 : 0;
}

const struct filter filter_for_all = {.steps = {0, INT64_MAX}};

int filter_is_of_steps(const struct filter *filter)
{
    return filter->steps.first > 0 || filter->steps.last < INT64_MAX;
}

int filter_is_of_ranks(const struct filter *filter)
{
    return filter->rank_count || filter->host;
}

int filter_resolve(struct filter *filter, unsigned except, struct store *store, const char *run,
                   struct error *error)
{
    const struct wanted steps = {schema_analysis_filter_steps, "step", NULL, filter->steps};
    const struct wanted tag = {schema_analysis_filter_tags, "tag", filter->tag, {0}};
    const struct wanted communicator = {
        schema_analysis_filter_communicators, "communicator", filter->communicator, {0}};
    int64_t run_id = 0;
    int failed =
        (run && run_find(store, run, &run_id, error)) || (filter->host && find_host(filter, store, error));
    for (size_t i = 0; !failed && !(except & FILTER_BIT(FILTER_RANK)) && i < filter->rank_count; i++) {
        const struct wanted ranks = {schema_analysis_filter_ranks, "rank", NULL, filter->ranks[i]};
        failed = check_value(&ranks, store, run_id, error);
    }
    if (!failed && filter_is_of_steps(filter) && !(except & FILTER_BIT(FILTER_STEP)))
        failed = check_value(&steps, store, run_id, error);
    if (!failed && filter->tag && !(except & FILTER_BIT(FILTER_TAG)))
        failed = check_value(&tag, store, run_id, error);
    if (!failed && filter->communicator && !(except & FILTER_BIT(FILTER_COMMUNICATOR)))
        failed = check_value(&communicator, store, run_id, error);
    return failed ? -1 : 0;
}

static int is_in_list(const struct filter *filter, int64_t rank)
{
    for (size_t i = 0; i < filter->rank_count; i++)
        if (rank >= filter->ranks[i].first && rank <= filter->ranks[i].last)
            return 1;
    return 0;
}

static int is_on_host(const struct filter *filter, int64_t rank)
{
    for (size_t i = 0; i < filter->host_rank_count; i++)
        if (filter->host_ranks[i] == rank)
            return 1;
    return 0;
}

int filter_has_rank(const struct filter *filter, int64_t rank)
{
    return (!filter->rank_count || is_in_list(filter, rank)) && (!filter->host || is_on_host(filter, rank));
}

int filter_selects(const struct filter *filter)
{
    return filter_is_of_ranks(filter) || filter->tag || filter->communicator || filter_is_of_steps(filter);
}

int filter_has_steps(const struct filter *filter, int64_t first, int64_t last)
{
    if (!filter_is_of_steps(filter))
        return 1;
    return first >= 0 && first <= filter->steps.last && last >= filter->steps.first;
}

int filter_is_text(const char *wanted, const char *text)
{
    return !wanted || (text && strcmp(wanted, text) == 0);
}

/* The columns of a table that filters use; -1: the table does not have it. */
struct places {
    int ranks[4];
    int first_step;
    int last_step;
    int tag;
    int communicator;
};

static struct places find_places(const struct table *table)
{
    int step = table_find_column(table, "step");
    return (struct places){
        .ranks = {table_find_column(table, "rank"), table_find_column(table, "sender"),
                  table_find_column(table, "receiver"), table_find_column(table, "last_rank")},
        .first_step = step >= 0 ? step : table_find_column(table, "first_step"),
        .last_step = step >= 0 ? step : table_find_column(table, "last_step"),
        .tag = table_find_column(table, "tag"),
        .communicator = table_find_column(table, "communicator"),
    };
}

static int has_ranks(const struct places *places)
{
    return places->ranks[0] >= 0 || places->ranks[1] >= 0 || places->ranks[3] >= 0;
}

static int check_places(const struct filter *filter, const struct places *places, struct error *error)
{
    if (filter_is_of_ranks(filter) && !has_ranks(places))
        return error_set(error, "--%s does not apply here: the rows have no rank",
                         filter->rank_count ? "rank" : "host");
    if (filter_is_of_steps(filter) && places->first_step < 0)
        return error_set(error, "--step does not apply here: the rows have no step");
    if (filter->tag && places->tag < 0)
        return error_set(error, "--tag does not apply here: the rows have no tag");
    if (filter->communicator && places->communicator < 0)
        return error_set(error, "--communicator does not apply here: the rows have no communicator");
    return 0;
}

static int64_t number_at(const struct table *table, size_t row, int column)
{
    const struct cell *cell = column >= 0 ? table_cell(table, row, (size_t)column) : NULL;
    return cell && cell->type == CELL_INTEGER ? cell->integer : -1;
}

static const char *text_at(const struct table *table, size_t row, int column)
{
    const struct cell *cell = column >= 0 ? table_cell(table, row, (size_t)column) : NULL;
    return cell && cell->type == CELL_TEXT ? cell->text : NULL;
}

/* An edge is selected if one of its ends is. */
static int is_of_rank(const struct filter *filter, const struct table *table, size_t row,
                      const struct places *places)
{
    int shown = !filter->rank_count && !filter->host;
    for (size_t i = 0; !shown && i < sizeof places->ranks / sizeof *places->ranks; i++)
        shown = places->ranks[i] >= 0 && filter_has_rank(filter, number_at(table, row, places->ranks[i]));
    return shown;
}

static int is_shown(const struct filter *filter, const struct table *table, size_t row,
                    const struct places *places)
{
    return is_of_rank(filter, table, row, places) &&
           (places->first_step < 0 || filter_has_steps(filter, number_at(table, row, places->first_step),
                                                       number_at(table, row, places->last_step))) &&
           filter_is_text(filter->tag, text_at(table, row, places->tag)) &&
           filter_is_text(filter->communicator, text_at(table, row, places->communicator));
}

struct looked_at {
    const struct filter *filter;
    struct places places;
};

static int is_kept(const void *context, const struct table *table, size_t row)
{
    const struct looked_at *looked_at = context;
    return is_shown(looked_at->filter, table, row, &looked_at->places);
}

int filter_rows(const struct filter *filter, struct table *table, int *usage, struct error *error)
{
    const struct looked_at looked_at = {filter, find_places(table)};
    if (check_places(filter, &looked_at.places, error)) {
        *usage = 1;
        return -1;
    }
    table_keep_rows(table, is_kept, &looked_at);
    return 0;
}

static int is_before(const void *context, const struct table *table, size_t row)
{
    return row < *(const size_t *)context;
}

/* Whether a column holds numbers that identify things and do not measure them. */
static int counts_upwards(const char *name)
{
    static const char *const names[] = {"rank",       "sender",    "receiver", "last_rank", "step",
                                        "first_step", "last_step", "channel",  "run"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

/* Returns -1 with an error that lists the columns. */
static int refuse_column(const char *name, const struct table *table, struct error *error)
{
    struct buffer list = BUFFER_INIT;
    int failed = 0;
    for (size_t i = 0; !failed && i < table->column_count; i++)
        failed = buffer_printf(&list, "%s%s", i ? ", " : "", table->columns[i].name);
    failed = failed ? error_no_memory(error)
                    : error_set(error, "invalid --sort '%s': there is no such column; columns are %s", name,
                                list.length ? list.data : "unknown");
    buffer_release(&list);
    return failed;
}

int filter_order(const struct filter *filter, struct table *table, int *usage, struct error *error)
{
    int column = filter->sort ? table_find_column(table, filter->sort) : -1;
    if (filter->sort && column < 0) {
        *usage = 1;
        return refuse_column(filter->sort, table, error);
    }
    if (column >= 0 && table_sort_rows(table, (size_t)column, counts_upwards(filter->sort), error))
        return -1;
    size_t most = filter->top ? (size_t)filter->top : SIZE_MAX;
    table_keep_rows(table, is_before, &most);
    return 0;
}

static int choose(struct runs *runs, const struct analysis_request *request, const char *wanted,
                  struct error *error)
{
    runs->ids = malloc(sizeof *runs->ids);
    if (!runs->ids)
        return error_no_memory(error);
    if (run_find(request->store, wanted, &runs->only, error)) {
        runs_release(runs);
        return -1;
    }
    runs->ids[runs->count++] = runs->only;
    return 0;
}

int runs_choose(struct runs *runs, const struct analysis_request *request, size_t option, struct table *table,
                struct error *error)
{
    const char *wanted = request->values[option];
    *runs = (struct runs){0};
    if (wanted ? choose(runs, request, wanted, error)
               : job_list(request->store, &runs->ids, &runs->count, error))
        return -1;
    table->is_of_one_run = runs->count == 1;
    return 0;
}

void runs_release(struct runs *runs)
{
    free(runs->ids);
    *runs = (struct runs){0};
}
