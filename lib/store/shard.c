#include "store/shard.h"

#include "base/array.h"
#include "schemas.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

static const char *const state_names[SHARD_STATES] = {[SHARD_WHOLE] = "whole",
                                                      [SHARD_LACKING] = "lacking",
                                                      [SHARD_UNFINISHED] = "unfinished",
                                                      [SHARD_MISSING] = "missing"};

/* Of more shards than any job has, a hostile store may speak. */
enum { MOST_COUNTED = 1 << 20 };

static enum shard_state state_named(const char *name)
{
    for (int state = 0; name && state < SHARD_STATES; state++)
        if (strcmp(name, state_names[state]) == 0)
            return (enum shard_state)state;
    return SHARD_UNFINISHED;
}

static int take_text(struct statement *row, int column, char **text)
{
    const char *value = statement_text(row, column);
    *text = strdup(value ? value : "");
    return *text ? 0 : -1;
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
    return take_text(row, 0, &shard->job) || take_text(row, 3, &shard->host) ||
                   take_text(row, 5, &shard->path) ||
                   (!statement_is_null(row, 7) && take_text(row, 7, &shard->reason))
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

/* Runs a sentence with what it takes of a shard; parameters of all have the same numbers. */
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

/* Rows of one job's count stand together, by number. */
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
