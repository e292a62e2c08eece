#ifndef NCCLPROF_CMD_SIMILAR_H
#define NCCLPROF_CMD_SIMILAR_H

#include <stddef.h>

/* Word number `number` of a list; NULL past the last. */
typedef const char *(*similar_word)(const void *list, size_t number);

/*
 * The word of a list that `typed` was probably meant to be: the nearest one by letters left out, put in,
 * changed or swapped with the next, a third of its letters at most (the share that git's help.autocorrect
 * comes to for short names), or the only one that begins with `typed`. NULL: none, or `typed` is longer than
 * any name.
 */
const char *similar_find(const char *typed, similar_word word, const void *list);

#endif
