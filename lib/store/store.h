#ifndef NCCLPROF_STORE_STORE_H
#define NCCLPROF_STORE_STORE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The store: one SQLite file, described in ncclprof-store(5). This room is the only door to SQLite; the rest
 * of the library speaks SQL through statements that it prepares here, mostly with texts from schemas/.
 */
struct store;
struct statement;

enum store_mode {
    STORE_CREATE, /* read and write; made when missing, with mode 0600; migrated when of an older schema */
    STORE_WRITE,  /* read and write; must exist */
    STORE_READ    /* must exist, nothing is changed: for query */
};

/*
 * Refuses, each with its reason: a file that is no SQLite database, another program's database, a store of a
 * newer schema than ours. Waits up to a few seconds for another writer, then says who holds it (the path).
 */
struct store *store_open(const char *path, enum store_mode mode, struct error *error);
void store_close(struct store *store);
const char *store_path(const struct store *store);

int store_begin(struct store *store, struct error *error);
int store_commit(struct store *store, struct error *error);
void store_rollback(struct store *store); /* harmless outside a transaction */

/* Runs one or several statements that return nothing. */
int store_execute(struct store *store, const char *sql, struct error *error);

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
const char *statement_text(struct statement *statement, int column);                   /* NULL for NULL */
const void *statement_blob(struct statement *statement, int column, size_t *length);

/* The value of fact `name`; `absent` when there is none. */
int store_fact(struct store *store, const char *name, int64_t absent, int64_t *value, struct error *error);
int store_set_fact(struct store *store, const char *name, int64_t value, struct error *error);

#endif
