#include "render/formats.h"

#include <errno.h>
#include <stdlib.h>
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

int render_check(FILE *stream, struct error *error)
{
    int number = errno;
    return ferror(stream) ? error_set_errno(error, number, "cannot write the output") : 0;
}

void render_real(double value, char text[REAL_TEXT_BYTES])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, REAL_TEXT_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}
