/* Finds runs by name or number, and reads and writes the rows about shards. */

#include "base/base.h"
#include "store/store.h"

#include "schemas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Whether the text is exactly one positive integer. */
static int read_number(const char *text, int64_t *number)
{
    char *end;
    if (!is_digit(*text))
        return 0;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return !*end && !errno && *number > 0;
}

/* 1: found; 0: not found; -1: error. */
static int find(struct store *store, const char *text, int64_t *run_id, struct error *error)
{
    int64_t number;
    struct statement *statement = store_prepare(store, schema_meta_runs_find, error);
    int found = statement ? statement_bind_text(statement, 1, text, error) : -1;
    if (found == 0)
        found = read_number(text, &number) ? statement_bind_integer(statement, 2, number, error)
                                           : statement_bind_null(statement, 2, error);
    if (found == 0)
        found = statement_step(statement, error);
    if (found == 1)
        *run_id = statement_integer(statement, 0);
    statement_free(statement);
    return found;
}

static int name_row(struct statement *row, size_t shown, struct buffer *text)
{
    const char *name = statement_text(row, 1);
    return buffer_printf(text, "%s%lld", shown ? ", " : "", (long long)statement_integer(row, 0)) ||
           (name && buffer_printf(text, " (%s)", name));
}

/* "1 (traces), 2 (traces-2) and 3 more (ncclprof info --runs)". */
static int name_some(struct store *store, struct buffer *text, struct error *error)
{
    struct statement *some = store_prepare(store, schema_meta_runs_some, error);
    int row = some ? 1 : -1;
    size_t shown = 0;
    int64_t count = 0;
    while (row == 1 && (row = statement_step(some, error)) == 1) {
        count = statement_integer(some, 2);
        if (name_row(some, shown++, text))
            row = error_no_memory(error);
    }
    if (row == 0 && count > (int64_t)shown &&
        buffer_printf(text, " and %lld more (ncclprof info --runs)", (long long)count - (long long)shown))
        row = error_no_memory(error);
    statement_free(some);
    return row;
}

static int refuse(struct store *store, const char *text, struct error *error)
{
    struct buffer some = BUFFER_INIT;
    if (name_some(store, &some, error) == 0)
        error_set(error, "no run '%s'; runs in the store: %s", text, some.length ? some.data : "none");
    buffer_release(&some);
    return -1;
}

int run_find(struct store *store, const char *text, int64_t *run_id, struct error *error)
{
    int found = find(store, text, run_id, error);
    return found == 1 ? 0 : found == 0 ? refuse(store, text, error) : -1;
}

static int put_once(int64_t **ids, size_t *count, size_t *capacity, int64_t id, struct error *error)
{
    for (size_t i = 0; i < *count; i++)
        if ((*ids)[i] == id)
            return 0;
    if (array_reserve((void **)ids, capacity, *count + 1, sizeof **ids))
        return error_no_memory(error);
    (*ids)[(*count)++] = id;
    return 0;
}

int run_find_all(struct store *store, const char *list, int64_t **ids, size_t *count, struct error *error)
{
    size_t capacity = 0;
    int failed = 0;
    *ids = NULL;
    *count = 0;
    for (const char *at = list; at && !failed;) {
        const char *comma = strchr(at, ',');
        char *text = comma ? strndup(at, (size_t)(comma - at)) : strdup(at);
        int64_t id;
        failed = !text                               ? error_no_memory(error)
                 : run_find(store, text, &id, error) ? -1
                                                     : put_once(ids, count, &capacity, id, error);
        free(text);
        at = comma ? comma + 1 : NULL;
    }
    if (!failed)
        return 0;
    free(*ids);
    *ids = NULL;
    *count = 0;
    return -1;
}

static const char *const state_names[SHARD_STATES] = {[SHARD_WHOLE] = "whole",
                                                      [SHARD_LACKING] = "lacking",
                                                      [SHARD_UNFINISHED] = "unfinished",
                                                      [SHARD_MISSING] = "missing"};

/*
 * Limits how many missing shards are added, because the counts of a hostile store may be arbitrarily large.
 */
enum { MOST_COUNTED = 1 << 20 };

static enum shard_state state_named(const char *name)
{
    for (int state = 0; name && state < SHARD_STATES; state++)
        if (strcmp(name, state_names[state]) == 0)
            return (enum shard_state)state;
    return SHARD_UNFINISHED;
}

static int take_row(struct shards *shards, struct statement *row, struct error *error)
{
    if (array_reserve((void **)&shards->items, &shards->capacity, shards->count + 1, sizeof *shards->items))
        return error_no_memory(error);
    struct shard *shard = &shards->items[shards->count++];
    *shard = (struct shard){.number = statement_integer(row, 1),
                            .count = statement_integer(row, 2),
                            .is_of_host = statement_integer(row, 4) != 0,
                            .state = state_named(statement_text(row, 6))};
    return statement_copy_text(row, 0, &shard->job) || statement_copy_text(row, 3, &shard->host) ||
                   statement_copy_text(row, 5, &shard->path) ||
                   (!statement_is_null(row, 7) && statement_copy_text(row, 7, &shard->reason))
               ? error_no_memory(error)
               : 0;
}

int shards_read(struct shards *shards, struct store *store, struct error *error)
{
    *shards = (struct shards){.items = NULL};
    struct statement *row = store_prepare(store, schema_ingest_shard_list, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take_row(shards, row, error))
            more = -1;
    statement_free(row);
    if (more < 0)
        shards_release(shards);
    return more;
}

void shards_release(struct shards *shards)
{
    for (size_t i = 0; i < shards->count; i++) {
        free(shards->items[i].job);
        free(shards->items[i].host);
        free(shards->items[i].path);
        free(shards->items[i].reason);
    }
    free(shards->items);
    *shards = (struct shards){.items = NULL};
}

const struct shard *shards_self(const struct shards *shards)
{
    for (size_t i = 0; i < shards->count; i++)
        if (!*shards->items[i].path && *shards->items[i].host)
            return &shards->items[i];
    return NULL;
}

/* Runs a statement with the fields of a shard; the parameters have the same numbers in all statements. */
static int run(struct store *store, const char *sql, const struct shard *shard, int is_whole_row,
               struct error *error)
{
    struct statement *statement = store_prepare(store, sql, error);
    int failed = !statement || statement_bind_text(statement, 1, shard->job, error) ||
                 statement_bind_integer(statement, 2, shard->number, error) ||
                 statement_bind_integer(statement, 3, shard->count, error) ||
                 statement_bind_text(statement, 4, shard->host, error) ||
                 statement_bind_text(statement, 6, shard->path, error);
    if (!failed && is_whole_row)
        failed = statement_bind_integer(statement, 5, shard->is_of_host, error) ||
                 statement_bind_text(statement, 7, state_names[shard->state], error) ||
                 statement_bind_text(statement, 8, shard->reason, error);
    failed = failed || statement_step(statement, error) < 0;
    statement_free(statement);
    return failed ? -1 : 0;
}

int shard_write(struct store *store, const struct shard *shard, struct error *error)
{
    return run(store, schema_ingest_shard_forget, shard, 0, error) ||
                   run(store, schema_ingest_shard_add, shard, 1, error)
               ? -1
               : 0;
}

int shard_write_self(struct store *store, const struct shard *shard, struct error *error)
{
    return store_execute(store, schema_ingest_shard_clear, error) ||
                   run(store, schema_ingest_shard_add, shard, 1, error) || store_set_shard(store, 1, error)
               ? -1
               : 0;
}

int store_is_shard(struct store *store, struct error *error)
{
    int64_t value;
    return store_fact(store, "shard", 0, &value, error) ? -1 : value != 0;
}

int store_set_shard(struct store *store, int is_shard, struct error *error)
{
    return store_set_fact(store, "shard", is_shard, error);
}

/* The shards of one job are adjacent, sorted by number. */
static int add_missing_of(struct store *store, const struct shard *shards, size_t count, struct error *error)
{
    size_t at = 0;
    for (int64_t number = 0; shards->count <= MOST_COUNTED && number < shards->count; number++) {
        while (at < count && shards[at].number < number)
            at++;
        if (at < count && shards[at].number == number)
            continue;
        char none[] = "";
        const struct shard missing = {.job = shards->job,
                                      .number = number,
                                      .count = shards->count,
                                      .host = none,
                                      .path = none,
                                      .state = SHARD_MISSING};
        if (run(store, schema_ingest_shard_add, &missing, 1, error))
            return -1;
    }
    return 0;
}

int shards_add_missing(struct store *store, struct error *error)
{
    struct shards shards;
    if (shards_read(&shards, store, error))
        return -1;
    int failed = 0;
    for (size_t first = 0, end; first < shards.count && !failed; first = end) {
        const struct shard *shard = &shards.items[first];
        for (end = first + 1; end < shards.count && shards.items[end].count == shard->count &&
                              strcmp(shards.items[end].job, shard->job) == 0;
             end++)
            ;
        if (shard->count > 1)
            failed = add_missing_of(store, shard, end - first, error);
    }
    shards_release(&shards);
    return failed;
}
