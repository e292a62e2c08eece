#include "store/recorded.h"

#include "schemas.h"
#include "store/record_tables.h"
#include "store/store.h"

int recorded_restore(struct store *store, struct error *error)
{
    int64_t is_set_aside;
    if (store_fact(store, "set_aside", 0, &is_set_aside, error))
        return -1;
    if (!is_set_aside)
        return 0;
    return record_tables_execute(store, schema_ingest_recorded_restore, error) ||
                   store_set_fact(store, "joined", 0, error)
               ? -1
               : 1;
}
