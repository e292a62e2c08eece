#include "store/removal.h"

#include "schemas.h"
#include "store/store.h"

enum { NOTE, REMOVE_FIRST };

static const char *const sentences[REMOVAL_SENTENCES] = {
    [NOTE] = schema_ingest_write_note_departure,
    [REMOVE_FIRST] = schema_ingest_write_remove_file,
    schema_ingest_write_remove_recorded,
    schema_ingest_write_remove_joined,
    schema_ingest_write_remove_proxy,
    schema_ingest_write_remove_proxy_recorded,
    schema_ingest_write_remove_tag,
    schema_ingest_write_remove_tag_name,
    schema_ingest_write_remove_anchor,
    schema_ingest_write_remove_loss,
    schema_ingest_write_remove_process_fact,
    schema_ingest_write_remove_group_status,
    schema_ingest_write_remove_start_up,
    schema_ingest_write_remove_warning,
    schema_ingest_write_remove_registration,
    schema_ingest_write_remove_file_member,
    schema_ingest_write_remove_ledger,
    schema_ingest_write_remove_file_row,
};

int removal_init(struct removal *removal, struct store *store, struct error *error)
{
    *removal = (struct removal){{NULL}};
    for (int i = 0; i < REMOVAL_SENTENCES; i++)
        if (!(removal->statements[i] = store_prepare(store, sentences[i], error)))
            return -1;
    return 0;
}

void removal_release(struct removal *removal)
{
    for (int i = 0; i < REMOVAL_SENTENCES; i++)
        statement_free(removal->statements[i]);
    *removal = (struct removal){{NULL}};
}

static int run_for(struct statement *statement, int64_t file_id, struct error *error)
{
    return statement_bind_integer(statement, 1, file_id, error) || statement_step(statement, error) < 0 ? -1
                                                                                                        : 0;
}

int removal_note(struct removal *removal, int64_t file_id, struct error *error)
{
    return run_for(removal->statements[NOTE], file_id, error);
}

int removal_file(struct removal *removal, int64_t file_id, struct error *error)
{
    for (int i = REMOVE_FIRST; i < REMOVAL_SENTENCES; i++)
        if (run_for(removal->statements[i], file_id, error))
            return -1;
    return 0;
}

int removal_sweep(struct store *store, struct error *error)
{
    return store_execute(store, schema_ingest_write_sweep, error);
}
