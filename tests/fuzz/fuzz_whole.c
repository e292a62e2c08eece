/*
 * Any bytes as a trace, with any name (its first line), through everything: into a store, joined, and every
 * analysis of it shown in every format. Whatever the trace says, all of them succeed and show nothing
 * harmful.
 */
#include "analyse/analyse.h"
#include "render/render.h"
#include "require.h"
#include "store/store.h"
#include "store_at_hand.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 200, MOST_OPTIONS = 64 };

static void check_shown(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        require((unsigned char)text[i] >= 0x20 || text[i] == '\n', "no control character shown");
}

static void show(const struct renderer *renderer, const struct table *table)
{
    struct error error = ERROR_INIT;
    char *text = NULL;
    size_t length = 0;
    struct render_target target = {.stream = open_memstream(&text, &length)};
    require(target.stream != NULL, "memory");
    require(render_table(renderer, table, &target, &error) == 0, "a table that can be shown");
    fclose(target.stream);
    if (strcmp(renderer->name, "csv") != 0)
        check_shown(text, length);
    free(text);
}

static void analyse(const struct analysis *analysis, struct store *store)
{
    const char *values[MOST_OPTIONS] = {NULL};
    struct error error = ERROR_INIT;
    struct analysis_result result = {.text = BUFFER_INIT, .json = BUFFER_INIT};
    int usage = 0;
    require(analysis->option_count <= MOST_OPTIONS, "options not too many");
    for (size_t i = 0; i < analysis->option_count; i++)
        values[i] = analysis->options[i].fallback;
    const struct analysis_request request = {.store = store, .values = values};
    table_init(&result.table, analysis->name);
    if (analysis->run(&request, &result, &usage, &error)) {
        fprintf(stderr, "%s: %s\n", analysis->name, error.depth ? error.cause[0] : "no reason");
        require(0, "an analysis that succeeds");
    }
    check_shown(result.text.data, result.text.length);
    check_shown(result.json.data, result.json.length);
    for (const struct renderer *const *renderer = renderer_registry; *renderer; renderer++)
        show(*renderer, &result.table);
    table_release(&result.table);
    buffer_release(&result.text);
    buffer_release(&result.json);
}

/* Writes the file; its name is what stands before the first newline, if that can be a name. */
static int make_file(char *path, size_t path_bytes, const uint8_t *bytes, size_t length)
{
    const uint8_t *newline = memchr(bytes, '\n', length);
    size_t name = newline && newline - bytes <= NAME_BYTES ? (size_t)(newline - bytes) : 0;
    if (name == 0 || memchr(bytes, '/', name) || memchr(bytes, '\0', name) || *bytes == '.' ||
        (name == 8 && memcmp(bytes, "store.db", 8) == 0))
        return -1;
    snprintf(path, path_bytes, "%s%.*s", folder_at_hand(), (int)name, (const char *)bytes);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0)
        return -1;
    size_t rest = length - name - 1;
    require(write(file, newline + 1, rest) == (ssize_t)rest, "a file that is written");
    close(file);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error error = ERROR_INIT;
    char path[NAME_BYTES + 64], store_path[64];
    if (make_file(path, sizeof path, bytes, length))
        return 0;
    snprintf(store_path, sizeof store_path, "%sstore.db", folder_at_hand());
    unlink(store_path);
    struct store *store = store_open(store_path, STORE_CREATE, &error);
    require(store != NULL, "a store");
    store_execute(store, "PRAGMA synchronous=OFF", NULL);
    if (ingest_at_hand(store, path, &error) == 0)
        for (const struct analysis *const *analysis = analysis_registry; *analysis; analysis++)
            analyse(*analysis, store);
    store_close(store);
    unlink(path);
    return 0;
}
