#include "store/members.h"

#include "base/array.h"
#include "base/sort.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A number and the byte behind it; NULL: it is none, or beyond a C int. */
static const char *read_rank(const char *text, int64_t *rank)
{
    *rank = 0;
    if (!isdigit((unsigned char)*text))
        return NULL;
    for (; isdigit((unsigned char)*text) && *rank < INT32_MAX; text++)
        *rank = *rank * 10 + (*text - '0');
    return *rank < INT32_MAX ? text : NULL;
}

/* How many there are; 0: it is no list of ranks. */
static size_t read_list(const char *text, int64_t *ranks)
{
    size_t count = 0;
    if (*text != '[')
        return 0;
    do {
        text = read_rank(text + 1, &ranks[count++]);
    } while (text && *text == ',');
    return text && strcmp(text, "]") == 0 ? count : 0;
}

/* 1: none comes twice. -1: out of memory. */
static int are_distinct(const int64_t *ranks, size_t count)
{
    int64_t *sorted = array_new(count, sizeof *sorted);
    if (!sorted)
        return -1;
    memcpy(sorted, ranks, count * sizeof *sorted);
    sort_integers(sorted, count);
    int distinct = 1;
    for (size_t i = 1; i < count; i++)
        distinct &= sorted[i] != sorted[i - 1];
    free(sorted);
    return distinct;
}

int members_read(const char *text, int64_t **ranks, size_t *count)
{
    *count = 0;
    /* Each takes two bytes at least. */
    *ranks = array_new(strlen(text) / 2 + 1, sizeof **ranks);
    if (!*ranks)
        return -1;
    size_t found = read_list(text, *ranks);
    int distinct = found ? are_distinct(*ranks, found) : 0;
    if (distinct < 0)
        return -1;
    *count = distinct ? found : 0;
    return 0;
}
