#ifndef NCCLPROF_STORE_RECORD_TABLES_H
#define NCCLPROF_STORE_RECORD_TABLES_H

#include "base/error.h"
#include "model/record.h"

#include <stddef.h>
#include <stdint.h>

struct statement;
struct store;

/*
 * Statements about all tables of records, made of the one description of them (model/record.h): a table that
 * is added there takes part in all of them.
 */

/*
 * A statement out of schemas/, with every marker in it replaced by SQL about each table whose records name a
 * process:
 *
 *     processes of file ?1              UNION SELECT the processes that the records of file ?1 name
 *     processes that file ?1 recorded   the same, whatever a join has made of the records
 *     files of run ?1                   UNION SELECT the files with records of a process of run ?1
 *     and of no record                  AND process_id is named by no record
 *     and without a process             AND file_id is of no file whose records name a process
 *
 * and, as sentences of their own, about those of them that joins change:
 *
 *     records go back                   what is kept replaces what joins made of it
 *     records of heard are kept         as they are
 *     records of heard are moved        to those that tables heard and heard_member say
 *
 * and of blocks of operations
 *
 *     columns of a block                those of operation_block
 *
 * each as a comment. NULL on error.
 */
struct statement *record_tables_prepare(struct store *store, const char *sql, struct error *error);
/* The same of statements that return nothing: runs them. */
int record_tables_execute(struct store *store, const char *sql, struct error *error);

/* A table of each kind, what is kept and what is joined of it, and the file's own. */
enum { REMOVAL_STATEMENTS = 3 * EVENT_TABLES + 3 };

/* DELETE of all that is stored of file ?1, the file itself last. The caller frees `count` statements, also
 * after -1. */
int record_tables_removal(struct store *store, struct statement *statements[REMOVAL_STATEMENTS],
                          size_t *count, struct error *error);

/* File `from`, its records, and what joins made of them, take the number `to`, which no file has. */
int record_tables_renumber(struct store *store, int64_t from, int64_t to, struct error *error);

/* The records of process or member `from`, as `whose` says, become those of `to`. Before `from` goes. */
int record_tables_move(struct store *store, enum field_kind whose, int64_t from, int64_t to,
                       struct error *error);

#endif
