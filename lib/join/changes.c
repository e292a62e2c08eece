#include "join/changes.h"

#include "base/array.h"
#include "base/map.h"
#include "schemas.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/*
 * A run is joined anew when files of one of its processes have come or gone, or when nothing is known of its
 * steps from before. What an earlier join said of the others' operations stays.
 */

static int read_changed(struct work *work, struct store *store, struct map *changed, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_load_changed, error);
    int row = statement ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1)
        if (!map_put(changed, (struct map_key){{(uint64_t)statement_integer(statement, 0)}}, 1, NULL))
            row = error_no_memory(error);
    statement_free(statement);
    for (size_t i = 0; row == 0 && i < work->process_count; i++)
        if (map_get(changed, (struct map_key){{(uint64_t)work->processes[i].id}}))
            work->runs[work->processes[i].run].is_changed = 1;
    return row;
}

static enum step_source source_named(const char *name)
{
    if (name && strcmp(name, "tags") == 0)
        return STEPS_BY_TAGS;
    if (name && strcmp(name, "told") == 0)
        return STEPS_TOLD;
    return name && strcmp(name, "period") == 0 ? STEPS_BY_PERIOD : STEPS_NONE;
}

/* Communicators come in order of id here and there. Marks the runs of which something is known. */
static int read_earlier(struct work *work, struct store *store, unsigned char *known, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_load_earlier_steps, error);
    int row = statement ? 1 : -1;
    size_t at = 0;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        int64_t id = statement_integer(statement, 0);
        while (at < work->communicator_count && work->communicators[at].id < id)
            at++;
        if (at == work->communicator_count || work->communicators[at].id != id ||
            work->communicators[at].run < 0)
            continue;
        struct work_run *run = &work->runs[work->communicators[at].run];
        run->step_count = (int32_t)statement_integer(statement, 1);
        run->step_source = source_named(statement_text(statement, 2));
        run->first_step = (int32_t)statement_integer(statement, 3);
        run->step_base = statement_integer(statement, 4);
        known[work->communicators[at].run] = 1;
    }
    statement_free(statement);
    return row;
}

int work_find_changes(struct work *work, struct store *store, struct error *error)
{
    struct map changed;
    map_init(&changed);
    unsigned char *known = array_new(work->run_count, 1);
    int failed = known ? read_changed(work, store, &changed, error) || read_earlier(work, store, known, error)
                       : error_no_memory(error);
    map_release(&changed);
    for (size_t i = 0; !failed && i < work->run_count; i++) {
        work->runs[i].is_changed |= !known[i];
        if (!work->runs[i].is_changed)
            continue;
        work->runs[i].step_count = 0;
        work->runs[i].step_source = STEPS_NONE;
        work->runs[i].first_step = 0;
        work->runs[i].step_base = 0;
    }
    free(known);
    return failed ? -1 : 0;
}
