#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

int array_reserve(void **items, size_t *capacity, size_t wanted, size_t item_bytes)
{
    if (wanted <= *capacity)
        return 0;
    size_t grown = *capacity < 16 ? 16 : *capacity + *capacity / 2;
    if (grown < wanted)
        grown = wanted;
    if (grown > SIZE_MAX / 2 / item_bytes)
        return -1;
    void *moved = realloc(*items, grown * item_bytes);
    if (!moved)
        return -1;
    *items = moved;
    *capacity = grown;
    return 0;
}

void *array_new(size_t count, size_t item_bytes)
{
    return calloc(count ? count : 1, item_bytes);
}

void array_sort(void *items, size_t count, size_t item_bytes, int (*compare)(const void *, const void *))
{
    if (count > 1)
        qsort(items, count, item_bytes, compare);
}
