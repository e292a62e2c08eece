#ifndef NCCLPROF_RENDER_RENDER_H
#define NCCLPROF_RENDER_RENDER_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/escape.h"
#include "model/table.h"

#include <stdio.h>

/* Where a table goes. */
struct render_target {
    FILE *stream;
    int width;  /* of the terminal, 0 when it is none */
    int colour; /* ANSI sequences are welcome */
};

/*
 * An output format. What a new one takes stands at the head of registry.c. Rows come one by one, so that a
 * query of any length needs no memory.
 *
 * begin returns a state (NULL on error) that end or abandon frees. `head` has the columns, and at the end
 * the warnings; its own rows are not looked at. It and the target stay where they are until then.
 */
struct renderer {
    const char *name;
    int is_for_people;  /* laid out for the eye: a single row may be turned upright, an analysis bring its own
                           text */
    int is_json;        /* an analysis may bring its own */
    int shows_warnings; /* false: the format has no place for them, the caller says them elsewhere */
    void *(*begin)(const struct table *head, const struct render_target *target, struct error *error);
    int (*row)(void *state, const struct cell *cells, struct error *error);
    int (*end)(void *state, struct error *error);
    void (*abandon)(void *state);
};

#endif
