#ifndef NCCLPROF_BASE_ARRAY_H
#define NCCLPROF_BASE_ARRAY_H

#include <stddef.h>

/*
 * Makes room in a plain C array of items. `*items` (owned by the caller, NULL at first) holds `*capacity`
 * items of `item_bytes` each; afterwards it holds at least `wanted`. Growth is geometric. Returns -1 when
 * memory is out or the size overflows; the array is then as it was.
 *
 *     if (array_reserve((void **)&ops, &capacity, count + 1, sizeof *ops)) return error_no_memory(error);
 *     ops[count++] = op;
 */
int array_reserve(void **items, size_t *capacity, size_t wanted, size_t item_bytes);

/* calloc that a count from a hostile file cannot overflow; NULL when memory is out. Freed with free(). */
void *array_new(size_t count, size_t item_bytes);

/* qsort that takes NULL for an array without items, as C's own may not. */
void array_sort(void *items, size_t count, size_t item_bytes, int (*compare)(const void *, const void *));

#endif
