/*
 * The views whose rows an analysis computes: v_step, v_finding, v_wait (schemas/view/verdict.sql). An
 * analysis runs with the defaults of its options, except --memory, and its table takes the place of the view.
 * All of them use one load of the run.
 */
#include "base/base.h"
#include "model/model.h"
#include "report/internal.h"
#include "report/report.h"
#include "store/store.h"

#include <string.h>

extern const struct analysis analysis_diagnose;
extern const struct analysis analysis_steps;

static const struct {
    const char *view;
    const struct analysis *analysis;
    const char *flag; /* an option that is given; NULL: none */
} computed[] = {{"v_step", &analysis_steps, NULL},
                {"v_finding", &analysis_diagnose, NULL},
                {"v_wait", &analysis_steps, "map"}};

enum { COMPUTED = sizeof computed / sizeof *computed, MOST_OPTIONS = 16, MOST_COLUMNS = 24 };

static const struct view *find_view(const char *name)
{
    for (int i = 0; store_views[i].name; i++)
        if (strcmp(store_views[i].name, name) == 0)
            return &store_views[i];
    return NULL;
}

static int fill(struct store *store, const struct view *view, const struct table *table, struct error *error)
{
    int columns[MOST_COLUMNS];
    for (size_t i = 0; i < view->column_count && i < MOST_COLUMNS; i++) {
        const char *name = view->columns[i].name;
        columns[i] = table_find_column(table, strcmp(name, "run_id") == 0 ? "run" : name);
        if (columns[i] < 0)
            return error_set(error, "the analysis has no column for %s of %s", name, view->name);
    }
    return view_fill(store, view, table, columns, error);
}

/* A result that the store has is not computed again. */
static int answer(const struct analysis *analysis, const struct analysis_request *request,
                  struct analysis_result *result, struct error *error)
{
    struct kept_result kept;
    int failed = 0, usage = 0;
    if (!kept_result_find(&kept, analysis, request, result)) {
        failed = analysis->run(request, result, &usage, error);
        if (!failed) {
            kept_result_take(&kept, result);
            kept_result_save(&kept, request->store);
        }
    }
    kept_result_release(&kept);
    return failed;
}

static const char *value_of(const struct analysis_option *option, const char *flag, const char *memory_mib)
{
    if (flag && strcmp(option->name, flag) == 0)
        return "1";
    return memory_mib && strcmp(option->name, "memory") == 0 ? memory_mib : option->fallback;
}

static int compute(struct store *store, struct shared_run *shared, size_t at, const char *memory_mib,
                   struct error *error)
{
    const struct analysis *analysis = computed[at].analysis;
    const struct view *view = find_view(computed[at].view);
    const char *values[MOST_OPTIONS] = {NULL};
    for (size_t i = 0; i < analysis->option_count && i < MOST_OPTIONS; i++)
        values[i] = value_of(&analysis->options[i], computed[at].flag, memory_mib);
    const struct analysis_request request = {.store = store, .shared = shared, .values = values};
    struct analysis_result result = {.text = BUFFER_INIT, .json = BUFFER_INIT};
    table_init(&result.table, analysis->name);
    int failed =
        answer(analysis, &request, &result, error) || !view || fill(store, view, &result.table, error);
    table_release(&result.table);
    buffer_release(&result.text);
    buffer_release(&result.json);
    return failed ? error_wrap(error, "cannot compute %s", computed[at].view) : 0;
}

int computed_views_fill(struct store *store, const char *sql, const char *memory_mib, struct error *error)
{
    struct shared_run *shared = shared_run_new();
    int failed = !shared ? error_no_memory(error) : 0;
    for (size_t i = 0; !failed && i < COMPUTED; i++)
        if (!sql || strcasestr(sql, computed[i].view))
            failed = compute(store, shared, i, memory_mib, error);
    shared_run_free(shared);
    return failed;
}
