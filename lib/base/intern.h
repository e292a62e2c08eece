#ifndef NCCLPROF_BASE_INTERN_H
#define NCCLPROF_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

/* Gives every distinct string a small number, 0, 1, 2 ... in order of first sight. */
struct intern {
    char **texts; /* owned, as are the strings */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* hash table of number + 1; 0 is free */
    size_t slot_count;
    uint64_t seed;
};

void intern_init(struct intern *intern);
void intern_release(struct intern *intern);

/* The number of `text` (of `length` bytes, copied when new), or -1 when memory is out. */
int64_t intern_put(struct intern *intern, const char *text, size_t length);

/* The text under a number that intern_put gave. Borrowed; lives as long as the intern. */
const char *intern_text(const struct intern *intern, int64_t number);

#endif
