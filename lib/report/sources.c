#include "report/sources.h"

#include "schemas.h"
#include "store/statement.h"

static int take(struct map *sources, struct report_groups *report, struct statement *row)
{
    struct map_key key = {{(uint64_t)statement_integer(row, 0)}};
    int64_t text = report_groups_text(report, statement_text(row, 1));
    return text < 0 || !map_put(sources, key, text, NULL) ? -1 : 0;
}

int report_sources_read(struct map *sources, struct report_groups *report, struct store *store,
                        int64_t run_id, struct error *error)
{
    struct statement *row = store_prepare_for(store, schema_analysis_report_sources, run_id, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take(sources, report, row))
            more = error_no_memory(error);
    statement_free(row);
    return more;
}
