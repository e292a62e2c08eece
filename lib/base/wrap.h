#ifndef NCCLPROF_BASE_WRAP_H
#define NCCLPROF_BASE_WRAP_H

#include "base/buffer.h"

#include <stddef.h>

/* What a line of prose and a table are laid out for where there is no terminal. */
enum { LINE_WIDTH = 80 };

/*
 * Appends a line of escaped text broken at blanks into lines of at most `width` columns, a newline behind
 * each. It begins as it does; what follows is indented by `hang` columns. A word that is longer than a line
 * stands alone, whole. -1 when memory is out.
 */
int wrap_line(struct buffer *buffer, const char *text, size_t length, size_t width, size_t hang);

/* The same of a text of several lines, each by itself: what follows is indented by two more than its
 * beginning.
 */
int wrap_text(struct buffer *buffer, const char *text, size_t length, size_t width);

#endif
