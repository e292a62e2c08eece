/* Settings and versions in NCCL's log that differ between the ranks of a run. */
#include "base/base.h"
#include "model/model.h"
#include "report/verdicts.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/* Most differences that are listed, and most ranks that are named for each value. */
enum { DIFFERENCES_MOST = 16, NAMED_MOST = 8 };

/* The value of a setting on a rank. Texts are numbers in `texts`. */
struct setting {
    int64_t name;
    int64_t rank; /* index of the rank among those with a log */
    int64_t value;
    int64_t order; /* of the lines of the log: the last value of a rank counts */
};

struct settings {
    struct intern texts;
    struct setting *items; /* owned */
    size_t count;
    size_t capacity;
    int64_t *ranks; /* owned: numbers of the ranks' names */
    size_t rank_count;
    size_t rank_capacity;
    int64_t last_id; /* job_rank_id of the last rank */
};

static void settings_release(struct settings *settings)
{
    intern_release(&settings->texts);
    free(settings->items);
    free(settings->ranks);
}

/* Adds a row: the rank's id and name, and "NAME=VALUE". Rows of a rank are in succession. */
static int take(struct settings *settings, struct statement *row)
{
    int64_t id = statement_integer(row, 0);
    const char *rank = statement_text(row, 1), *text = statement_text(row, 2);
    const char *equal = text ? strchr(text, '=') : NULL;
    if (!settings->rank_count || id != settings->last_id) {
        if (array_reserve((void **)&settings->ranks, &settings->rank_capacity, settings->rank_count + 1,
                          sizeof *settings->ranks))
            return -1;
        settings->ranks[settings->rank_count++] = intern_put(&settings->texts, rank, strlen(rank));
        settings->last_id = id;
        if (settings->ranks[settings->rank_count - 1] < 0)
            return -1;
    }
    if (!equal)
        return 0;
    if (array_reserve((void **)&settings->items, &settings->capacity, settings->count + 1,
                      sizeof *settings->items))
        return -1;
    struct setting *item = &settings->items[settings->count];
    *item = (struct setting){.name = intern_put(&settings->texts, text, (size_t)(equal - text)),
                             .rank = (int64_t)settings->rank_count - 1,
                             .value = intern_put(&settings->texts, equal + 1, strlen(equal + 1)),
                             .order = (int64_t)settings->count};
    settings->count++;
    return item->name < 0 || item->value < 0 ? -1 : 0;
}

static int read_settings(struct settings *settings, struct store *store, int64_t run_id, struct error *error)
{
    struct statement *row = store_prepare_for(store, schema_analysis_log_settings, run_id, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take(settings, row))
            more = error_no_memory(error);
    statement_free(row);
    return more;
}

static int by_name(const void *a, const void *b)
{
    const struct setting *left = a, *right = b;
    int order = compare_integers(left->name, right->name);
    order = order ? order : compare_integers(left->rank, right->rank);
    return order ? order : compare_integers(left->order, right->order);
}

static int by_value(const void *a, const void *b)
{
    const struct setting *left = a, *right = b;
    int order = compare_integers(left->value, right->value);
    return order ? order : compare_integers(left->rank, right->rank);
}

/* Keeps the last value of each rank. Returns the number of values; `items` are of one name. */
static size_t keep_last(struct setting *items, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || items[i + 1].rank != items[i].rank)
            items[kept++] = items[i];
    return kept;
}

/* Ranks with the same value; `count` 0: those that have none. */
struct holders {
    const struct setting *first;
    size_t count;
};

static int by_holders(const void *a, const void *b)
{
    const struct holders *left = a, *right = b;
    int order = (left->count < right->count) - (left->count > right->count);
    return order ? order : compare_integers(left->first->rank, right->first->rank);
}

/* Appends " on rank 3" or " on ranks 3, 5 and 12 more". */
static int append_ranks(const struct settings *settings, const int64_t *ranks, size_t count,
                        struct buffer *text)
{
    int failed = buffer_append_text(text, count == 1 ? " on rank " : " on ranks ");
    for (size_t i = 0; i < count && i < NAMED_MOST && !failed; i++)
        failed = buffer_printf(text, "%s%s",
                               i == 0           ? ""
                               : i + 1 == count ? " and "
                                                : ", ",
                               intern_text(&settings->texts, settings->ranks[ranks[i]]));
    return failed || (count > NAMED_MOST && buffer_printf(text, " and %zu more", count - (size_t)NAMED_MOST));
}

static int append_holders(const struct settings *settings, const struct holders *holders, struct buffer *text)
{
    int64_t ranks[NAMED_MOST];
    for (size_t i = 0; i < holders->count && i < NAMED_MOST; i++)
        ranks[i] = holders->first[i].rank;
    return buffer_printf(text, ", %s", intern_text(&settings->texts, holders->first->value)) ||
           append_ranks(settings, ranks, holders->count, text);
}

/* Appends the ranks that do not have the setting. */
static int append_without(const struct settings *settings, const struct setting *items, size_t count,
                          struct buffer *text)
{
    int64_t ranks[NAMED_MOST];
    size_t found = 0;
    char *has = array_new(settings->rank_count + 1, 1);
    for (size_t i = 0; has && i < count; i++)
        has[items[i].rank] = 1;
    for (size_t i = 0; has && i < settings->rank_count; i++)
        if (!has[i] && found++ < NAMED_MOST)
            ranks[found - 1] = (int64_t)i;
    int failed = !has || buffer_append_text(text, ", not set") || append_ranks(settings, ranks, found, text);
    free(has);
    return failed;
}

/*
 * Whether ranks without the setting are told: versions are printed by some ranks only, and some settings by
 * rank 0 alone.
 */
static int is_told_if_absent(const struct settings *settings, const struct setting *items, size_t count)
{
    const char *name = intern_text(&settings->texts, items->name);
    int is_of_first =
        count == 1 && strcmp(intern_text(&settings->texts, settings->ranks[items->rank]), "0") == 0;
    return count < settings->rank_count && strncmp(name, "NCCL_", 5) == 0 && !is_of_first;
}

/* Describes a difference. Where each rank has its own value, it is meant to differ. */
static int append_difference(const struct settings *settings, const struct setting *items, size_t count,
                             struct holders *holders, size_t values, struct buffer *text)
{
    int lacks = is_told_if_absent(settings, items, count);
    if ((values == 1 && !lacks) || (values == count && count > 2))
        return 0;
    array_sort(holders, values, sizeof *holders, by_holders);
    int failed = buffer_printf(
        text, "%s is %s on %zu of %zu ranks", intern_text(&settings->texts, items->name),
        intern_text(&settings->texts, holders[0].first->value), holders[0].count, settings->rank_count);
    for (size_t i = 1; i < values && i < NAMED_MOST && !failed; i++)
        failed = append_holders(settings, &holders[i], text);
    if (values > NAMED_MOST && !failed)
        failed = buffer_printf(text, ", and %zu more values", values - (size_t)NAMED_MOST);
    return failed || (lacks && append_without(settings, items, count, text));
}

/* Tells the values of one setting; `items` are of one name, and there is one for each rank that has it. */
static int tell(const struct settings *settings, int64_t run_id, struct setting *items, size_t count,
                int *told, struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    struct holders *holders = array_new(count, sizeof *holders);
    size_t values = 0;
    array_sort(items, count, sizeof *items, by_value);
    for (size_t i = 0; holders && i < count; i++) {
        if (!i || items[i].value != items[i - 1].value)
            holders[values++] = (struct holders){&items[i], 0};
        holders[values - 1].count++;
    }
    int failed = !holders || append_difference(settings, items, count, holders, values, &text)
                     ? error_no_memory(error)
                     : 0;
    if (!failed && text.length && ++*told <= DIFFERENCES_MOST)
        failed = table_add_warning(table, error, "run %lld: %s", (long long)run_id, text.data);
    free(holders);
    buffer_release(&text);
    return failed;
}

int caution_settings(struct store *store, int64_t run_id, struct table *table, struct error *error)
{
    struct settings settings = {.items = NULL};
    int told = 0;
    intern_init(&settings.texts);
    int failed = read_settings(&settings, store, run_id, error);
    array_sort(settings.items, settings.count, sizeof *settings.items, by_name);
    for (size_t begin = 0, end; begin < settings.count && !failed; begin = end) {
        for (end = begin; end < settings.count && settings.items[end].name == settings.items[begin].name;
             end++)
            ;
        failed = tell(&settings, run_id, settings.items + begin,
                      keep_last(settings.items + begin, end - begin), &told, table, error);
    }
    if (!failed && told > DIFFERENCES_MOST)
        failed = table_add_warning(table, error, "run %lld: %d more settings differ between ranks",
                                   (long long)run_id, told - DIFFERENCES_MOST);
    settings_release(&settings);
    return failed ? -1 : 0;
}
