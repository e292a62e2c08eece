#include "export/parquet_dictionary.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_AT_FIRST = 64 };

void parquet_dictionary_init(struct parquet_dictionary *dictionary)
{
    *dictionary = (struct parquet_dictionary){.seed = hash_seed()};
}

void parquet_dictionary_release(struct parquet_dictionary *dictionary)
{
    buffer_release(&dictionary->bytes);
    free(dictionary->ends);
    free(dictionary->slots);
    parquet_dictionary_init(dictionary);
}

void parquet_dictionary_clear(struct parquet_dictionary *dictionary)
{
    buffer_clear(&dictionary->bytes);
    dictionary->count = 0;
    if (dictionary->slots)
        memset(dictionary->slots, 0, dictionary->slot_count * sizeof *dictionary->slots);
}

const char *parquet_dictionary_value(const struct parquet_dictionary *dictionary, uint32_t number,
                                     size_t *length)
{
    size_t begin = number ? dictionary->ends[number - 1] : 0;
    *length = dictionary->ends[number] - begin;
    return dictionary->bytes.data + begin;
}

static uint64_t hash_of(uint64_t seed, const char *bytes, size_t length)
{
    uint64_t hash = seed ^ length, word;
    for (; length >= sizeof word; bytes += sizeof word, length -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = hash_mix(hash, word);
    }
    word = 0;
    memcpy(&word, bytes, length);
    return hash_mix(hash, word);
}

static int is_value(const struct parquet_dictionary *dictionary, uint32_t number, const char *bytes,
                    size_t length)
{
    size_t held_length;
    const char *held = parquet_dictionary_value(dictionary, number, &held_length);
    return held_length == length && memcmp(held, bytes, length) == 0;
}

/* The slot of a value, or the free one where it belongs. */
static uint32_t *find(const struct parquet_dictionary *dictionary, const char *bytes, size_t length)
{
    size_t mask = dictionary->slot_count - 1;
    size_t at = (size_t)hash_of(dictionary->seed, bytes, length) & mask;
    while (dictionary->slots[at] && !is_value(dictionary, dictionary->slots[at] - 1, bytes, length))
        at = (at + 1) & mask;
    return &dictionary->slots[at];
}

static int grow(struct parquet_dictionary *dictionary)
{
    size_t slot_count = dictionary->slot_count ? dictionary->slot_count * 2 : SLOTS_AT_FIRST;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return -1;
    free(dictionary->slots);
    dictionary->slots = slots;
    dictionary->slot_count = slot_count;
    for (uint32_t i = 0; i < dictionary->count; i++) {
        size_t length;
        const char *bytes = parquet_dictionary_value(dictionary, i, &length);
        *find(dictionary, bytes, length) = i + 1;
    }
    return 0;
}

int64_t parquet_dictionary_put(struct parquet_dictionary *dictionary, const char *bytes, size_t length)
{
    if (dictionary->count && is_value(dictionary, dictionary->last, bytes, length))
        return dictionary->last;
    if ((dictionary->count + 1) * 2 > dictionary->slot_count && grow(dictionary))
        return -1;
    uint32_t *slot = find(dictionary, bytes, length);
    if (*slot == 0) {
        if (array_reserve((void **)&dictionary->ends, &dictionary->capacity, dictionary->count + 1,
                          sizeof *dictionary->ends) ||
            buffer_append(&dictionary->bytes, bytes, length))
            return -1;
        dictionary->ends[dictionary->count++] = dictionary->bytes.length;
        *slot = (uint32_t)dictionary->count;
    }
    dictionary->last = *slot - 1;
    return dictionary->last;
}
