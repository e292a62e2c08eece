#include "render/registry.h"

#include "render/formats.h"

#include <string.h>

const struct renderer *const renderer_registry[] = {&renderer_table, &renderer_json, &renderer_csv, NULL};

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
