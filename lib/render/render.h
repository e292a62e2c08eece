#ifndef NCCLPROF_RENDER_RENDER_H
#define NCCLPROF_RENDER_RENDER_H

#include "base/buffer.h"
#include "base/error.h"
#include "model/table.h"

#include <stdio.h>

/*
 * An output format: writes a whole table to a stream. A newcomer adds one file that exports one of these and
 * one line in registry.c; `--format NAME` then works everywhere.
 */
struct renderer {
    const char *name;
    const char *description;
    /* Returns -1 when the stream fails. `width` is the terminal's, 0 when it is none; `colour` allows ANSI.
     */
    int (*write)(const struct table *table, FILE *stream, int width, int colour, struct error *error);
};

extern const struct renderer *const renderer_registry[]; /* ended by NULL; the first is the default */

const struct renderer *renderer_find(const char *name);

/*
 * Escapes hostile text. For a terminal: control characters, escapes and invalid UTF-8 become \xNN, so that
 * one line stays one line and nothing is executed. For JSON: RFC 8259 with invalid UTF-8 as U+FFFD.
 */
int escape_terminal(struct buffer *buffer, const char *text, size_t length);
int escape_json(struct buffer *buffer, const char *text, size_t length);

#endif
