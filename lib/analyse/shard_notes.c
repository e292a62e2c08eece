#include "analyse/shard_notes.h"

#include "base/buffer.h"
#include "model/table.h"
#include "store/shard.h"
#include "store/store.h"

/* Of many, a few say enough. */
enum { MOST_TOLD = 8 };

/* "shard 2/4 of host node7 (/shared/ncclprof-node7.db)" */
static int say_which(const struct shard *shard, struct buffer *text)
{
    if (shard->count > 1
            ? buffer_printf(text, "shard %lld/%lld", (long long)shard->number, (long long)shard->count)
            : buffer_append_text(text, "a shard"))
        return -1;
    return (*shard->host && buffer_printf(text, " of host %s", shard->host)) ||
           (*shard->path && buffer_printf(text, " (%s)", shard->path));
}

static int warn_of(const struct shard *shard, struct table *table, struct error *error)
{
    static const char *const words[SHARD_STATES] = {[SHARD_LACKING] = "lacks files",
                                                    [SHARD_UNFINISHED] = "is incomplete",
                                                    [SHARD_MISSING] = "is missing"};
    struct buffer text = BUFFER_INIT;
    int failed = say_which(shard, &text)
                     ? error_no_memory(error)
                     : table_add_warning(table, error, "%s %s; the missing data was not analyzed%s%s%s",
                                         text.data, words[shard->state], shard->reason ? " (" : "",
                                         shard->reason ? shard->reason : "", shard->reason ? ")" : "");
    buffer_release(&text);
    return failed;
}

/* What a store says of its shards. */
struct standing {
    struct shards shards;
    int64_t lacking;
    int64_t there;
    int64_t expected; /* 0: nobody said how many */
};

static int find_standing(struct standing *standing, struct store *store, struct error *error)
{
    *standing = (struct standing){.lacking = 0};
    if (shards_read(&standing->shards, store, error))
        return -1;
    for (size_t i = 0; i < standing->shards.count; i++) {
        standing->there += standing->shards.items[i].state != SHARD_MISSING;
        standing->lacking += standing->shards.items[i].state != SHARD_WHOLE;
    }
    if (store_fact(store, "shards_expected", 0, &standing->expected, error) == 0)
        return 0;
    shards_release(&standing->shards);
    return -1;
}

static int warn_of_rest(const struct standing *standing, struct table *table, struct error *error)
{
    if (standing->lacking > MOST_TOLD &&
        table_add_warning(table, error, "%lld more shards are missing or incomplete",
                          (long long)(standing->lacking - MOST_TOLD)))
        return -1;
    return standing->there < standing->expected
               ? table_add_warning(
                     table, error,
                     "only %lld of %lld shards are present; the data of the others was not analyzed",
                     (long long)standing->there, (long long)standing->expected)
               : 0;
}

int caution_shards(struct store *store, struct table *table, struct error *error)
{
    struct standing standing;
    int64_t told = 0;
    if (find_standing(&standing, store, error))
        return -1;
    int failed = 0;
    for (size_t i = 0; i < standing.shards.count && told < MOST_TOLD && !failed; i++) {
        const struct shard *shard = &standing.shards.items[i];
        if (shard->state == SHARD_WHOLE)
            continue;
        failed = warn_of(shard, table, error);
        told++;
    }
    failed = failed || warn_of_rest(&standing, table, error);
    shards_release(&standing.shards);
    return failed;
}

int shards_are_lacking(struct store *store, int *are_lacking, struct error *error)
{
    struct standing standing;
    if (find_standing(&standing, store, error))
        return -1;
    *are_lacking = standing.lacking > 0 || standing.there < standing.expected;
    shards_release(&standing.shards);
    return 0;
}
