/*
 * Arbitrary bytes as SQL on a store with content: the query ends, its rows can be printed in every format,
 * and the file does not change.
 */
#include "base/base.h"
#include "output/output.h"
#include "require.h"
#include "store/store.h"
#include "store_at_hand.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ROWS = 200, MOST_LOOKS = 200 };

static char path[64];
static struct store *store;
static int looks;

static void digest_store(char text[33])
{
    char bytes[1 << 14];
    struct digest digest;
    ssize_t got;
    int file = open(path, O_RDONLY);
    require(file >= 0, "a store that is there");
    digest_init(&digest);
    while ((got = read(file, bytes, sizeof bytes)) > 0)
        digest_update(&digest, bytes, (size_t)got);
    close(file);
    digest_hex(&digest, text);
}

/*
 * SQLite's locks belong to the process, and closing the file drops them. No other thread uses the file here.
 */
static void make_store(void)
{
    struct error error = ERROR_INIT;
    snprintf(path, sizeof path, "%sstore.db", folder_at_hand());
    struct store *made = store_open(path, STORE_CREATE, &error);
    require(made != NULL, "a store");
    require(ingest_at_hand(made, "fixtures/dialect-2.29.7/dump_7071687986940225672_0.json", &error) == 0,
            "a trace");
    store_close(made);
    store = store_open(path, STORE_READ, &error);
    require(store != NULL, "a store to read");
}

static int stop(void *context)
{
    return ++looks > MOST_LOOKS;
}

static const struct renderer *renderer_at(size_t number)
{
    size_t count = 0;
    while (renderer_registry[count])
        count++;
    return renderer_registry[number % count];
}

static void show(struct query *query, const struct renderer *renderer)
{
    struct error error = ERROR_INIT;
    FILE *sink = fopen("/dev/null", "w");
    const struct render_target target = {.stream = sink};
    const struct cell *cells;
    require(sink != NULL, "somewhere to write");
    void *state = renderer->begin(query_head(query), &target, &error);
    require(state != NULL, "a head that can be shown");
    int more = 1;
    for (int row = 0; row < MOST_ROWS && more == 1; row++)
        if ((more = query_next(query, &cells, &error)) == 1)
            require(renderer->row(state, cells, &error) == 0, "a row that can be shown");
    require(more >= 0 || error.depth > 0, "a reason");
    if (more == 0)
        require(renderer->end(state, &error) == 0, "an end");
    else
        renderer->abandon(state);
    fclose(sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const struct query_limits limits = {.seconds = 2, .wanted = stop};
    char before[33], after[33];
    struct error error = ERROR_INIT;
    if (!store)
        make_store();
    digest_store(before);
    char *sql = malloc(length + 1);
    require(sql != NULL, "memory");
    memcpy(sql, bytes, length);
    sql[length] = '\0';
    looks = 0;
    struct query *query = query_open(store, sql, &limits, &error);
    require(query != NULL || error.depth > 0, "a reason");
    if (query)
        show(query, renderer_at(length));
    query_close(query);
    free(sql);
    digest_store(after);
    require(strcmp(before, after) == 0, "the store as it was");
    return 0;
}
