#include "store/run_names.h"

#include "base/array.h"
#include "base/buffer.h"
#include "schemas.h"
#include "store/statement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Whether the text is a whole number from 1, and nothing else. */
static int read_number(const char *text, int64_t *number)
{
    char *end;
    if (*text < '0' || *text > '9')
        return 0;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return !*end && !errno && *number > 0;
}

/* 1: found, 0: there is none, -1: error. */
static int find(struct store *store, const char *text, int64_t *run_id, struct error *error)
{
    int64_t number;
    struct statement *statement = store_prepare(store, schema_meta_runs_find, error);
    int found = statement ? statement_bind_text(statement, 1, text, error) : -1;
    if (found == 0)
        found = read_number(text, &number) ? statement_bind_integer(statement, 2, number, error)
                                           : statement_bind_null(statement, 2, error);
    if (found == 0)
        found = statement_step(statement, error);
    if (found == 1)
        *run_id = statement_integer(statement, 0);
    statement_free(statement);
    return found;
}

static int name_row(struct statement *row, size_t shown, struct buffer *text)
{
    const char *name = statement_text(row, 1);
    return buffer_printf(text, "%s%lld", shown ? ", " : "", (long long)statement_integer(row, 0)) ||
           (name && buffer_printf(text, " (%s)", name));
}

/* "1 (traces), 2 (traces-2) and 3 more (ncclprof info --runs)". */
static int name_some(struct store *store, struct buffer *text, struct error *error)
{
    struct statement *some = store_prepare(store, schema_meta_runs_some, error);
    int row = some ? 1 : -1;
    size_t shown = 0;
    int64_t count = 0;
    while (row == 1 && (row = statement_step(some, error)) == 1) {
        count = statement_integer(some, 2);
        if (name_row(some, shown++, text))
            row = error_no_memory(error);
    }
    if (row == 0 && count > (int64_t)shown &&
        buffer_printf(text, " and %lld more (ncclprof info --runs)", (long long)count - (long long)shown))
        row = error_no_memory(error);
    statement_free(some);
    return row;
}

static int refuse(struct store *store, const char *text, struct error *error)
{
    struct buffer some = BUFFER_INIT;
    if (name_some(store, &some, error) == 0)
        error_set(error, "no run '%s'; runs in the store: %s", text, some.length ? some.data : "none");
    buffer_release(&some);
    return -1;
}

int run_find(struct store *store, const char *text, int64_t *run_id, struct error *error)
{
    int found = find(store, text, run_id, error);
    return found == 1 ? 0 : found == 0 ? refuse(store, text, error) : -1;
}

static int put_once(int64_t **ids, size_t *count, size_t *capacity, int64_t id, struct error *error)
{
    for (size_t i = 0; i < *count; i++)
        if ((*ids)[i] == id)
            return 0;
    if (array_reserve((void **)ids, capacity, *count + 1, sizeof **ids))
        return error_no_memory(error);
    (*ids)[(*count)++] = id;
    return 0;
}

int run_find_all(struct store *store, const char *list, int64_t **ids, size_t *count, struct error *error)
{
    size_t capacity = 0;
    int failed = 0;
    *ids = NULL;
    *count = 0;
    for (const char *at = list; at && !failed;) {
        const char *comma = strchr(at, ',');
        char *text = comma ? strndup(at, (size_t)(comma - at)) : strdup(at);
        int64_t id;
        failed = !text                               ? error_no_memory(error)
                 : run_find(store, text, &id, error) ? -1
                                                     : put_once(ids, count, &capacity, id, error);
        free(text);
        at = comma ? comma + 1 : NULL;
    }
    if (!failed)
        return 0;
    free(*ids);
    *ids = NULL;
    *count = 0;
    return -1;
}
