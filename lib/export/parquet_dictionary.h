#ifndef NCCLPROF_EXPORT_PARQUET_DICTIONARY_H
#define NCCLPROF_EXPORT_PARQUET_DICTIONARY_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

/* The different values of a column chunk, each once, in order of first sight: any bytes, zeros included. */
struct parquet_dictionary {
    struct buffer bytes; /* one behind the other: the content of a dictionary page */
    size_t *ends;        /* owned; of each in the bytes */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* owned; hash table of number + 1; 0 is free */
    size_t slot_count;
    uint64_t seed;
    uint32_t last; /* what was put last: values often come in a row */
};

void parquet_dictionary_init(struct parquet_dictionary *dictionary);
void parquet_dictionary_release(struct parquet_dictionary *dictionary);

/* Empties it; the memory is kept for the next use. */
void parquet_dictionary_clear(struct parquet_dictionary *dictionary);

/* The number of a value, which is copied when it is new; -1 when memory is out. */
int64_t parquet_dictionary_put(struct parquet_dictionary *dictionary, const char *bytes, size_t length);

/* The value of that number. Borrowed until the next put. */
const char *parquet_dictionary_value(const struct parquet_dictionary *dictionary, uint32_t number,
                                     size_t *length);

#endif
