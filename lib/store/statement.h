#ifndef NCCLPROF_STORE_STATEMENT_H
#define NCCLPROF_STORE_STATEMENT_H

#include "base/error.h"
#include "model/table.h"

#include <stddef.h>
#include <stdint.h>

struct store;
struct statement;

/* A statement to bind, step and read. Freed with statement_free. NULL on error. */
struct statement *store_prepare(struct store *store, const char *sql, struct error *error);
/* The same with a run as its first parameter, or with NULL there for run 0: there is none, all are meant. */
struct statement *store_prepare_for(struct store *store, const char *sql, int64_t run_id,
                                    struct error *error);
void statement_free(struct statement *statement);

/* Parameters count from 1. Text and blobs are copied. Binding cannot fail for valid indexes but for memory.
 */
int statement_bind_integer(struct statement *statement, int parameter, int64_t value, struct error *error);
int statement_bind_text(struct statement *statement, int parameter, const char *text, struct error *error);
int statement_bind_blob(struct statement *statement, int parameter, const void *bytes, size_t length,
                        struct error *error);
int statement_bind_null(struct statement *statement, int parameter, struct error *error);

/* 1: a row is there; 0: done (the statement is reset and can be bound anew); -1: error. */
int statement_step(struct statement *statement, struct error *error);
void statement_reset(struct statement *statement);

/* Columns count from 0. Text and blobs are borrowed until the next step. */
int statement_is_null(struct statement *statement, int column);
int64_t statement_integer(struct statement *statement, int column);
int64_t statement_integer_or(struct statement *statement, int column, int64_t absent); /* `absent` for NULL */
double statement_real(struct statement *statement, int column);
const char *statement_text(struct statement *statement, int column); /* NULL for NULL */
/* What a column holds; a blob counts as text. */
enum cell_type statement_type(struct statement *statement, int column);
/* Likewise all of its bytes, of whatever type; NULL for NULL, and when memory is out. */
const char *statement_bytes(struct statement *statement, int column, size_t *length);
const void *statement_blob(struct statement *statement, int column, size_t *length);

#endif
