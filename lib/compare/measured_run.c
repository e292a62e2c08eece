#include "compare/measured_run.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void measured_run_init(struct measured_run *run)
{
    *run = (struct measured_run){.items = NULL};
    intern_init(&run->texts);
}

void measured_run_release(struct measured_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        free(run->items[i].values);
        free(run->items[i].places);
    }
    for (size_t i = 0; i < run->finding_count; i++)
        free(run->findings[i].text);
    free(run->items);
    free(run->findings);
    free(run->ways);
    free(run->hosts);
    free(run->run_name);
    intern_release(&run->texts);
    *run = (struct measured_run){.items = NULL};
}

const char *measured_keep(struct measured_run *run, const char *text)
{
    int64_t number = intern_put(&run->texts, text, strlen(text));
    return number < 0 ? NULL : intern_text(&run->texts, number);
}

struct step_series *measured_add(struct measured_run *run, enum series_kind kind, const char *key,
                                 size_t capacity)
{
    const char *kept = measured_keep(run, key);
    double *values = array_new(capacity + 1, sizeof *values);
    if (!kept || !values ||
        array_reserve((void **)&run->items, &run->capacity, run->count + 1, sizeof *run->items)) {
        free(values);
        return NULL;
    }
    struct step_series *series = &run->items[run->count++];
    *series = (struct step_series){
        .kind = kind, .key = kept, .rank = -1, .receiver = -1, .values = values, .in_a_step = 1};
    return series;
}

void series_add(struct step_series *series, double value)
{
    if (isfinite(value))
        series->values[series->count++] = value;
}

static int by_key(const void *a, const void *b)
{
    const struct step_series *left = a, *right = b;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return strcmp(left->key, right->key);
}

void measured_sort(struct measured_run *run)
{
    array_sort(run->items, run->count, sizeof *run->items, by_key);
}

const struct step_series *measured_find(const struct measured_run *run, enum series_kind kind,
                                        const char *key)
{
    const struct step_series wanted = {.kind = kind, .key = key};
    return run->count ? bsearch(&wanted, run->items, run->count, sizeof wanted, by_key) : NULL;
}
