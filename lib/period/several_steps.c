#include "period/several_steps.h"

#include "base/array.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

enum { FEWEST_PARTS = 3, REST_OF = 5 };

static int is_same(const struct cycles *cycles, size_t first, size_t than, size_t count)
{
    return memcmp(cycles->symbols + first, cycles->symbols + than, count * sizeof *cycles->symbols) == 0;
}

/* How often the part that a cycle begins with comes in a row. */
static size_t count_parts(const struct cycles *cycles, size_t start, size_t length, size_t part)
{
    size_t count = 1;
    while ((count + 1) * part <= length && is_same(cycles, start, start + count * part, part))
        count++;
    return count;
}

/* Whether the part makes enough different calls, and the rest none but those. -1: out of memory. */
static int has_all_calls(const struct cycles *cycles, size_t start, size_t part, size_t rest, size_t end)
{
    struct map calls;
    size_t different = 0;
    int has_all = 1;
    map_init(&calls);
    for (size_t i = start; i < start + part && has_all == 1; i++) {
        int is_new;
        if (!map_put(&calls, (struct map_key){{cycles->calls[i]}}, 0, &is_new))
            has_all = -1;
        else
            different += (size_t)is_new;
    }
    for (size_t i = rest; i < end && has_all == 1; i++)
        has_all = map_get(&calls, (struct map_key){{cycles->calls[i]}}) != NULL;
    map_release(&calls);
    return has_all == 1 ? different >= cycles->fewest_calls : has_all;
}

/* The length of the part that several of make a cycle with a rest; 0: there is none. -1: out of memory. */
static int64_t find_part(const struct cycles *cycles, size_t start, size_t length)
{
    for (size_t part = 2; part * FEWEST_PARTS < length; part++) {
        size_t count = count_parts(cycles, start, length, part), rest = length - count * part;
        if (count < FEWEST_PARTS || !rest || rest * REST_OF > length)
            continue;
        int has_all = has_all_calls(cycles, start, part, start + length - rest, start + length);
        if (has_all)
            return has_all < 0 ? -1 : (int64_t)part;
    }
    return 0;
}

/* The steps of all cycles, into `found`. Returns how many. */
static size_t cut(const struct cycles *cycles, const size_t *starts, size_t count, size_t part, size_t *found)
{
    size_t steps = 0;
    for (size_t i = 0; i < count; i++) {
        size_t end = i + 1 < count ? starts[i + 1] : cycles->end, at = starts[i];
        found[steps++] = at;
        for (at += part; at + part <= end && is_same(cycles, at, starts[0], part); at += part)
            found[steps++] = at;
    }
    return steps;
}

int several_steps_find(const struct cycles *cycles, size_t *starts, size_t *count)
{
    size_t length = *count >= 2 ? starts[1] - starts[0] : 0;
    int64_t part = length ? find_part(cycles, starts[0], length) : 0;
    size_t *found = part > 0 ? array_new(cycles->end, sizeof *found) : NULL;
    if (part <= 0)
        return (int)part;
    if (!found)
        return -1;
    *count = cut(cycles, starts, *count, (size_t)part, found);
    memcpy(starts, found, *count * sizeof *starts);
    free(found);
    return 0;
}
