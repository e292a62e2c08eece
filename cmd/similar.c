#include "cmd/similar.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST = 31 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/*
 * How many letters were left out, put in, changed or swapped with their neighbour: the optimal string
 * alignment distance (Damerau 1964), row by row of the usual table. Neither word is longer than LONGEST.
 */
static unsigned distance(const char *left, const char *right)
{
    unsigned rows[3][LONGEST + 1];
    size_t height = strlen(left), width = strlen(right);
    for (unsigned k = 0; k <= width; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= height; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *twice_above = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= width; k++) {
            unsigned changed = above[k - 1] + (left[i - 1] != right[k - 1]);
            row[k] = least(changed, least(above[k], row[k - 1]) + 1);
            if (i > 1 && k > 1 && left[i - 1] == right[k - 2] && left[i - 2] == right[k - 1])
                row[k] = least(row[k], twice_above[k - 2] + 1);
        }
    }
    return rows[height % 3][width];
}

/* The only word that begins with `typed`; NULL: none, or several. */
static const char *find_longer(const char *typed, size_t length, similar_word word, const void *list)
{
    const char *found = NULL, *candidate;
    for (size_t i = 0; (candidate = word(list, i)) != NULL; i++) {
        if (strncmp(candidate, typed, length) != 0)
            continue;
        if (found)
            return NULL;
        found = candidate;
    }
    return found;
}

const char *similar_find(const char *typed, similar_word word, const void *list)
{
    size_t length = strlen(typed);
    const char *nearest = NULL, *candidate;
    unsigned nearest_distance = UINT32_MAX;
    if (length < 2 || length > LONGEST)
        return NULL;
    const char *longer = find_longer(typed, length, word, list);
    if (longer)
        return longer;
    for (size_t i = 0; (candidate = word(list, i)) != NULL; i++) {
        if (strlen(candidate) > LONGEST)
            continue;
        unsigned far = distance(typed, candidate);
        if (far < nearest_distance && far * 3 <= strlen(candidate)) {
            nearest = candidate;
            nearest_distance = far;
        }
    }
    return nearest;
}
