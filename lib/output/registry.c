/*
 * The registry of output formats. A new format, foo, needs a line in renderer_registry below; then
 * `--format foo` works everywhere. It also needs the following; `make check` reports what is missing.
 * - lib/output/foo.c: exports `const struct renderer renderer_foo` (lib/output/output.h)
 * - tests/unit/output/test_renderers.c: all kinds of cells, including hostile text
 * - tests/golden/: `make golden` writes a complete output
 * - man/ncclprof.1: foo among the values of --format
 * Help, completion, the command-line tests, the fuzzers and the torture tests use all formats in this
 * registry.
 */
#include "model/model.h"
#include "output/output.h"

#include <string.h>

/* Each format's file exports one renderer. */
extern const struct renderer renderer_table;
extern const struct renderer renderer_json;
extern const struct renderer renderer_csv;
extern const struct renderer renderer_markdown;

const struct renderer *const renderer_registry[] = {&renderer_table, &renderer_json, &renderer_csv,
                                                    &renderer_markdown, NULL};

const char *renderer_name(size_t number)
{
    static const size_t count = sizeof renderer_registry / sizeof *renderer_registry - 1;
    return number < count ? renderer_registry[number]->name : NULL;
}

const struct renderer *renderer_find(const char *name)
{
    for (size_t i = 0; renderer_registry[i]; i++)
        if (strcmp(renderer_registry[i]->name, name) == 0)
            return renderer_registry[i];
    return NULL;
}

int render_table(const struct renderer *renderer, const struct table *table,
                 const struct render_target *target, struct error *error)
{
    void *state = renderer->begin(table, target, error);
    if (!state)
        return -1;
    for (size_t row = 0; row < table->row_count; row++) {
        const struct cell *cells = table->cells + row * table->column_count;
        if (renderer->row(state, cells, error)) {
            renderer->abandon(state);
            return -1;
        }
    }
    return renderer->end(state, error);
}
