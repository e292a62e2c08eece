/*
 * Remembers which steps each block of operations contains, so that reading some steps of a run again does not
 * read its other blocks. The first cursor that reads all blocks of a run for some of its steps writes them
 * down.
 */
#include "base/base.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/records.h"
#include "store/sqlite.h"
#include "store/store.h"

#include <stdlib.h>

/* A block may have rows outside any step (-1) and others: then all steps in between count as contained. */
struct known_block {
    int64_t id;
    int64_t first_step;
    int64_t last_step;
};

struct known_blocks {
    int64_t run_id;
    struct store_version version; /* for which they are right */
    struct known_block *items;
    size_t count;
    size_t capacity;
};

/* Ranges of more steps are not searched for one that is wanted. */
enum { MOST_STEPS_OF_BLOCK = 4096 };

struct known_blocks *known_blocks_new(int64_t run_id)
{
    struct known_blocks *known = calloc(1, sizeof *known);
    if (known)
        known->run_id = run_id;
    return known;
}

void known_blocks_free(struct known_blocks *known)
{
    if (known)
        free(known->items);
    free(known);
}

int known_blocks_add(struct known_blocks *known, int64_t id, const struct block_reader *joined)
{
    struct known_block block = {.id = id, .first_step = INT64_MAX, .last_step = -1};
    for (size_t row = 0; row < joined->count; row++) {
        int64_t step = block_value(joined, JOINED_STEP, row, -1);
        block.first_step = step < block.first_step ? step : block.first_step;
        block.last_step = step > block.last_step ? step : block.last_step;
    }
    if (array_reserve((void **)&known->items, &known->capacity, known->count + 1, sizeof *known->items))
        return -1;
    known->items[known->count++] = block;
    return 0;
}

int store_version_read(struct store *store, struct store_version *version, struct error *error)
{
    struct statement *statement = store_prepare(store, "PRAGMA data_version", error);
    int row = statement ? statement_step(statement, error) : -1;
    version->by_others = row == 1 ? statement_integer(statement, 0) : 0;
    version->by_us = sqlite3_total_changes(store->handle);
    statement_free(statement);
    return row < 0 ? -1 : 0;
}

void known_blocks_keep(struct store *store, struct known_blocks *known, struct store_version version)
{
    known_blocks_free(store->known_blocks);
    known->version = version;
    store->known_blocks = known;
}

int known_blocks_apply(const struct store *store, int64_t run_id, struct store_version version)
{
    const struct known_blocks *known = store->known_blocks;
    return known && known->run_id == run_id && known->version.by_others == version.by_others &&
           known->version.by_us == version.by_us;
}

static int is_any_wanted(const struct known_block *block, operation_wanted is_wanted, const void *context)
{
    /* A damaged store may have any numbers. */
    int is_plain = block->first_step > block->last_step ||
                   (block->first_step >= INT32_MIN && block->last_step <= INT32_MAX);
    if (!is_plain || block->last_step - block->first_step >= MOST_STEPS_OF_BLOCK)
        return 1;
    for (int64_t step = block->first_step; step <= block->last_step; step++)
        if (is_wanted(context, step))
            return 1;
    return 0;
}

int known_blocks_list(const struct store *store, operation_wanted is_wanted, const void *context,
                      struct buffer *ids)
{
    const struct known_blocks *known = store->known_blocks;
    int failed = buffer_append_byte(ids, '[');
    for (size_t i = 0; i < known->count && !failed; i++)
        if (is_any_wanted(&known->items[i], is_wanted, context))
            failed = buffer_printf(ids, ids->length > 1 ? ",%lld" : "%lld", (long long)known->items[i].id);
    return failed || buffer_append_byte(ids, ']') ? -1 : 0;
}
