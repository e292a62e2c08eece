#include "analyse/witness_notes.h"

#include "schemas.h"
#include "store/store.h"

static int say_united(struct statement *row, struct table *table, struct error *error)
{
    return table_add_warning(
        table, error, "run %lld: %s was also recorded by %s; %lld duplicate record%s counted once",
        (long long)statement_integer(row, 0), statement_text(row, 1), statement_text(row, 2),
        (long long)statement_integer(row, 3), statement_integer(row, 3) == 1 ? " is" : "s are");
}

static int say_doubt(struct statement *row, struct table *table, struct error *error)
{
    return table_add_warning(
        table, error, "runs %lld and %lld may be the same job from two recorders; they are not merged: %s",
        (long long)statement_integer(row, 0), (long long)statement_integer(row, 1), statement_text(row, 2));
}

static int say_rows(struct store *store, const struct runs *runs, const char *sql,
                    int (*say)(struct statement *, struct table *, struct error *), struct table *table,
                    struct error *error)
{
    struct statement *row = store_prepare_for(store, sql, runs->only, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (say(row, table, error))
            more = -1;
    statement_free(row);
    return more;
}

int caution_witnesses(struct store *store, const struct runs *runs, struct table *table, struct error *error)
{
    return say_rows(store, runs, schema_analysis_caution_witnesses, say_united, table, error) ||
                   say_rows(store, runs, schema_analysis_caution_doubts, say_doubt, table, error)
               ? -1
               : 0;
}
