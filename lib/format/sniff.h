#ifndef NCCLPROF_FORMAT_SNIFF_H
#define NCCLPROF_FORMAT_SNIFF_H

#include <stddef.h>

/*
 * Telling traces from what only speaks of them: programs and pages that hold a trace's words lie in the same
 * directories as traces do.
 */

/*
 * The first `word` at or after `from` that may stand in a trace: in a text that begins with a brace or
 * bracket, or, where its beginning is lost, in a line that begins with an object whose first key (with its
 * quotes) is `first_key`. `from` points into the `length` bytes of text. NULL when there is none.
 */
const char *sniff_find(const char *text, size_t length, const char *from, const char *word,
                       const char *first_key);

int sniff_is_space(char byte);

/* The program that packed what begins with these bytes and unpacks it with -dc; NULL when none is known. Not
 * gzip. */
const char *sniff_packer(const char *bytes, size_t length);

#endif
