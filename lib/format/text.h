#ifndef NCCLPROF_FORMAT_TEXT_H
#define NCCLPROF_FORMAT_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Pieces of a line, borrowed from it, and the words and numbers in them. */
struct text {
    const char *data;
    size_t length;
};

/* What follows the first `mark` in it; a NULL `data` where there is none. */
struct text text_after(struct text text, const char *mark);

int text_begins(struct text text, const char *begin);
int text_holds(struct text text, const char *mark);
int text_holds_any(struct text text, const char *const *marks); /* up to a NULL */
int text_is(struct text text, const char *word);

/* Up to the first byte that is a space, a comma or a bracket of either kind. */
struct text text_word(struct text text);

/* As a string in `copy`, cut to what that holds; NULL where the text is empty. */
const char *text_copy(struct text text, char *copy, size_t bytes);

/* What stands behind " KEY " or at the beginning behind "KEY ", up to the next space; `key` is without
 * spaces. */
struct text text_value(struct text text, const char *key);

/* The same as a number. -1 where it is absent, or is none. */
int text_number(struct text text, const char *key, int64_t *value);
int text_hexadecimal(struct text text, const char *key, uint64_t *value);

/* The digits that a text begins with; COUNT_UNKNOWN where there is none, or they are no int64_t. */
int64_t text_leading_number(struct text text);

/* Seconds with decimals, "1.23", as nanoseconds; TIME_UNKNOWN where it is none, or more than three years:
 * sums of some are whole. */
int64_t text_seconds_ns(struct text text);

#endif
