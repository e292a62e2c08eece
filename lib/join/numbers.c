#include "join/numbers.h"

#include <stdlib.h>

struct numbers *numbers_new(void)
{
    struct numbers *numbers = calloc(1, sizeof *numbers);
    if (numbers)
        map_init(&numbers->pairs);
    return numbers;
}

void numbers_free(struct numbers *numbers)
{
    if (numbers)
        map_release(&numbers->pairs);
    free(numbers);
}

int64_t numbers_next(const struct numbers *first, struct numbers *counted, int function, int32_t peer)
{
    if (!function_is_point_to_point((enum function)function))
        return function >= 0 && function < FUNCTION_COUNT
                   ? first->collectives[function] + counted->collectives[function]++
                   : 0;
    struct map_key key = {{(uint64_t)function, (uint64_t)peer}};
    const int64_t *before = map_get(&first->pairs, key);
    int64_t *count = map_put(&counted->pairs, key, 0, NULL);
    return count ? first->most_pairs - (before ? *before : 0) + (*count)++ : -1;
}
