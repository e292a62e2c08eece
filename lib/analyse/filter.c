#include "analyse/filter.h"

#include "analyse/option.h"
#include "base/array.h"
#include "schemas.h"
#include "store/statement.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int filter_find_host(struct filter *filter, struct store *store, struct error *error)
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

int filter_has_steps(const struct filter *filter, int64_t first, int64_t last)
{
    if (filter->steps.first == 0 && filter->steps.last == INT64_MAX)
        return 1;
    return first >= 0 && first <= filter->steps.last && last >= filter->steps.first;
}

int filter_is_text(const char *wanted, const char *text)
{
    return !wanted || (text && strcmp(wanted, text) == 0);
}

/* Which columns of a table filters look at; -1: it has none. */
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
    int has_steps = filter->steps.first > 0 || filter->steps.last < INT64_MAX;
    if ((filter->rank_count || filter->host) && !has_ranks(places))
        return error_set(error, "--%s does not apply here: the rows have no rank",
                         filter->rank_count ? "rank" : "host");
    if (has_steps && places->first_step < 0)
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

/* An edge is shown where one of its ends is. */
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

/* Numbers that tell things apart, rather than measure them. */
static int counts_upwards(const char *name)
{
    static const char *const names[] = {"rank",       "sender",    "receiver", "last_rank", "step",
                                        "first_step", "last_step", "channel",  "run"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

int filter_order(const struct filter *filter, struct table *table, int *usage, struct error *error)
{
    int column = filter->sort ? table_find_column(table, filter->sort) : -1;
    if (filter->sort && column < 0) {
        *usage = 1;
        return error_set(error, "invalid --sort '%s': there is no such column", filter->sort);
    }
    if (column >= 0 && table_sort_rows(table, (size_t)column, counts_upwards(filter->sort), error))
        return -1;
    size_t most = filter->top ? (size_t)filter->top : SIZE_MAX;
    table_keep_rows(table, is_before, &most);
    return 0;
}
