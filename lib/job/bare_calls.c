#include "job/bare_calls.h"

#include "schemas.h"
#include "store/statement.h"

int bare_calls_count(struct bare_calls *calls, struct store *store, int64_t run_id, struct error *error)
{
    struct statement *statement = store_prepare_for(store, schema_analysis_caution_bare_calls, run_id, error);
    int row = statement ? statement_step(statement, error) : -1;
    *calls = (struct bare_calls){0};
    if (row == 1)
        *calls = (struct bare_calls){statement_integer(statement, 0), statement_integer(statement, 1)};
    statement_free(statement);
    return row < 0 ? -1 : 0;
}
