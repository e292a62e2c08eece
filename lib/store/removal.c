#include "store/removal.h"

#include "schemas.h"
#include "store/store.h"

int removal_init(struct removal *removal, struct store *store, struct error *error)
{
    *removal = (struct removal){.note = NULL};
    removal->note = record_tables_prepare(store, schema_ingest_write_note_departure, error);
    return removal->note ? record_tables_removal(store, removal->statements, &removal->count, error) : -1;
}

void removal_release(struct removal *removal)
{
    statement_free(removal->note);
    for (size_t i = 0; i < removal->count; i++)
        statement_free(removal->statements[i]);
    *removal = (struct removal){.note = NULL};
}

static int run_for(struct statement *statement, int64_t file_id, struct error *error)
{
    return statement_bind_integer(statement, 1, file_id, error) || statement_step(statement, error) < 0 ? -1
                                                                                                        : 0;
}

int removal_note(struct removal *removal, int64_t file_id, struct error *error)
{
    return run_for(removal->note, file_id, error);
}

int removal_file(struct removal *removal, int64_t file_id, struct error *error)
{
    for (size_t i = 0; i < removal->count; i++)
        if (run_for(removal->statements[i], file_id, error))
            return -1;
    return 0;
}

int removal_sweep(struct store *store, struct error *error)
{
    return record_tables_execute(store, schema_ingest_write_sweep, error);
}
