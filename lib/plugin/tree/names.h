/* A bounded set of short texts, each known by a small number: 0 is the empty text, and stands in when it is
 * full. */
#ifndef PLUGIN_TREE_NAMES_H
#define PLUGIN_TREE_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct names {
    char **texts;
    uint32_t count;
    uint32_t *places; /* hash table of numbers, twice the capacity */
    uint32_t capacity;
};

/* 0, or -1 when memory is short. capacity is rounded up to a power of two. */
int names_init(struct names *names, uint32_t capacity);
void names_release(struct names *names);
uint32_t names_number(struct names *names, const char *text, size_t length);
/* Borrowed; lives as long as names. */
const char *names_text(const struct names *names, uint32_t number);

#endif
