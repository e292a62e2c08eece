#ifndef NCCLPROF_STORE_RECORD_TABLES_H
#define NCCLPROF_STORE_RECORD_TABLES_H

#include "base/error.h"

#include "store/insert.h"

#include <stddef.h>
#include <stdint.h>

struct statement;
struct store;

/*
 * Statements about all tables of records, made of the one list of them (bulk_tables in insert.h): a table
 * that is added there takes part in all of them.
 */

/* Where rows of a table are kept as they were recorded, after a join has changed or removed them; NULL: joins
 * leave the table as it is. */
extern const char *const record_tables_kept[BULK_TABLES];

/*
 * A statement out of schemas/, with every marker in it replaced by SQL about each table whose records name a
 * process:
 *
 *     processes of file ?1               UNION SELECT the processes that the records of file ?1 name
 *     processes that file ?1 recorded    the same, whatever a join has made of the records
 * (record_tables_kept) files of run ?1                    UNION SELECT the files with records of a process of
 * run ?1 and of no record                   AND process_id is named by no record and without a process AND
 * file_id is of no file whose records name a process
 *
 * each as a comment. NULL on error.
 */
struct statement *record_tables_prepare(struct store *store, const char *sql, struct error *error);
/* The same of statements that return nothing: runs them. */
int record_tables_execute(struct store *store, const char *sql, struct error *error);

/* DELETE of what is stored of file ?1 in table number 0, 1, 2 ...: the tables of records, those of what
 * joins made of records, and last the file itself. NULL past the last, with *is_past set, and on error. */
struct statement *record_tables_removal(struct store *store, size_t number, int *is_past,
                                        struct error *error);

/* The records of file `from`, and what joins made of them, become those of file `to`, which has none. */
int record_tables_renumber(struct store *store, int64_t from, int64_t to, struct error *error);

#endif
