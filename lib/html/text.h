#ifndef NCCLPROF_HTML_TEXT_H
#define NCCLPROF_HTML_TEXT_H

#include "base/buffer.h"

#include <stddef.h>

/* Pieces of a page. Texts are hostile and come out escaped. All return -1 when memory is out. */

int html_text(struct buffer *page, const char *text);

/* An element around a text. `open` is its tag with its attributes, which are the page's own: "p class=\"x\"".
 */
int html_element(struct buffer *page, const char *open, const char *text);

/* The same around what `text` holds, which is emptied. */
int html_put(struct buffer *page, const char *open, struct buffer *text);

/* " name=\"VALUE\"", the value escaped. */
int html_attribute(struct buffer *page, const char *name, const char *value);

/* A paragraph for each line that is not empty; lines may be indented. */
int html_lines(struct buffer *page, const char *open, const char *text);

#endif
