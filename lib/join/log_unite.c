#include "join/log_unite.h"

#include "base/array.h"
#include "schemas.h"
#include "store/record_tables.h"
#include "store/store.h"

#include <stdlib.h>

/*
 * Rotated logs may lie in a directory of their own. A process of one host and id that is the same rank of the
 * same communicator here and there is one process.
 */

static int run_all(struct store *store, const char *const *sentences, size_t count, int64_t to, int64_t from,
                   struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct statement *statement = store_prepare(store, sentences[i], error);
        int failed = !statement || statement_bind_integer(statement, 1, to, error) ||
                     statement_bind_integer(statement, 2, from, error) ||
                     statement_step(statement, error) < 0;
        statement_free(statement);
        if (failed)
            return -1;
    }
    return 0;
}

struct pair {
    int64_t from;
    int64_t to;
};

static int list_pairs(struct store *store, int64_t to, int64_t from, struct pair **pairs, size_t *count,
                      struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_logs_united, error);
    size_t capacity = 0;
    int row = !statement || statement_bind_integer(statement, 1, to, error) ||
                      statement_bind_integer(statement, 2, from, error)
                  ? -1
                  : 1;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        if (array_reserve((void **)pairs, &capacity, *count + 1, sizeof **pairs)) {
            row = error_no_memory(error);
            break;
        }
        (*pairs)[(*count)++] =
            (struct pair){statement_integer(statement, 0), statement_integer(statement, 1)};
    }
    statement_free(statement);
    return row;
}

static int unite(struct store *store, int64_t to, int64_t from, struct error *error)
{
    static const char *const of_member[] = {schema_join_logs_move_files, schema_join_logs_forget_files,
                                            schema_join_logs_forget_joined, schema_join_logs_forget_member};
    static const char *const of_process[] = {schema_join_logs_unite_changes, schema_join_logs_forget_changes,
                                             schema_join_logs_forget_clock, schema_join_logs_forget_process};
    static const char *const first[] = {schema_join_logs_unite_members};
    struct pair *pairs = NULL;
    size_t count = 0;
    int failed =
        run_all(store, first, 1, to, from, error) || list_pairs(store, to, from, &pairs, &count, error);
    for (size_t i = 0; !failed && i < count; i++)
        failed = record_tables_move(store, FIELD_MEMBER, pairs[i].from, pairs[i].to, error) ||
                 run_all(store, of_member, sizeof of_member / sizeof *of_member, pairs[i].to, pairs[i].from,
                         error);
    free(pairs);
    return failed || record_tables_move(store, FIELD_PROCESS, from, to, error) ||
                   run_all(store, of_process, sizeof of_process / sizeof *of_process, to, from, error)
               ? -1
               : 0;
}

/* 1 with two that are one, 0: there are none, -1. */
static int find_two(struct store *store, int64_t *to, int64_t *from, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_logs_same_process, error);
    int row = statement ? statement_step(statement, error) : -1;
    if (row == 1) {
        *to = statement_integer(statement, 0);
        *from = statement_integer(statement, 1);
    }
    statement_free(statement);
    return row;
}

int logs_unite_processes(struct store *store, struct error *error)
{
    int64_t to, from;
    int found;
    while ((found = find_two(store, &to, &from, error)) == 1)
        if (unite(store, to, from, error))
            return -1;
    return found;
}
