#ifndef NCCLPROF_BASE_ESCAPE_H
#define NCCLPROF_BASE_ESCAPE_H

#include "base/buffer.h"

#include <stddef.h>

/*
 * Makes hostile text fit to be shown. For a terminal: control characters, escapes, direction overrides and
 * invalid UTF-8 become \xNN, so that one line stays one line and nothing is executed. For JSON: RFC 8259
 * (without the quotes around it), invalid UTF-8 as U+FFFD. Both return -1 when memory is out.
 */
int escape_terminal(struct buffer *buffer, const char *text, size_t length);
int escape_json(struct buffer *buffer, const char *text, size_t length);

/* For readers that take nothing but UTF-8 and any character of it: what is none becomes U+FFFD, the rest
 * stays as it is. Whether it has to; -1 when memory is out. */
int escape_is_utf8(const char *text, size_t length);
int escape_utf8(struct buffer *buffer, const char *text, size_t length);

/* Likewise for HTML and XML, as text and between double quotes: as for a terminal, and no markup. */
int escape_markup(struct buffer *buffer, const char *text, size_t length);

/* Columns that escaped text takes: its characters, without colours (colour.h). */
size_t escape_width(const char *text);

/* The same of so many bytes. */
size_t escape_width_of(const char *text, size_t length);

#endif
