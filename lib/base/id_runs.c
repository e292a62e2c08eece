#include "base/id_runs.h"

#include "base/array.h"
#include "base/lower_bound.h"

#include <stdlib.h>

static size_t end_of(const struct id_runs *runs, size_t run)
{
    return run + 1 < runs->run_count ? runs->items[run + 1].index : runs->count;
}

/* Where an id is in a run; not below 0 only where it is in it. */
static int64_t place_in(const struct id_runs *runs, size_t run, int64_t id)
{
    const struct id_run *in = &runs->items[run];
    uint64_t place = (uint64_t)id - (uint64_t)in->id;
    return id >= in->id && place < end_of(runs, run) - in->index ? (int64_t)(in->index + place) : -1;
}

int id_runs_add(struct id_runs *runs, int64_t id)
{
    struct id_run *last = runs->run_count ? &runs->items[runs->run_count - 1] : NULL;
    if (!last || (uint64_t)id - (uint64_t)last->id != runs->count - last->index) {
        if (array_reserve((void **)&runs->items, &runs->run_capacity, runs->run_count + 1,
                          sizeof *runs->items))
            return -1;
        runs->items[runs->run_count++] = (struct id_run){id, runs->count};
    }
    runs->count++;
    return 0;
}

static int begins_up_to(const void *run, const void *id)
{
    return ((const struct id_run *)run)->id <= *(const int64_t *)id;
}

static int indexed_up_to(const void *run, const void *index)
{
    return ((const struct id_run *)run)->index <= *(const size_t *)index;
}

int64_t id_runs_find(struct id_runs *runs, int64_t id)
{
    int64_t place = runs->run_count ? place_in(runs, runs->latest, id) : -1;
    if (place >= 0)
        return place;
    size_t after = lower_bound(runs->items, runs->run_count, sizeof *runs->items, begins_up_to, &id);
    if (!after)
        return -1;
    runs->latest = after - 1;
    return place_in(runs, after - 1, id);
}

int64_t id_runs_at(const struct id_runs *runs, size_t index)
{
    size_t after = lower_bound(runs->items, runs->run_count, sizeof *runs->items, indexed_up_to, &index);
    const struct id_run *in = &runs->items[after - 1];
    return in->id + (int64_t)(index - in->index);
}

void id_runs_release(struct id_runs *runs)
{
    free(runs->items);
    *runs = (struct id_runs){0};
}
