/* Hashing: seeds, file digests, numbering of strings, hash maps, and disjoint sets. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

uint64_t hash_seed(void)
{
    static _Thread_local uint64_t seed;
    if (!seed && getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
        seed = (uint64_t)time(NULL);
    return seed |= 1;
}

void digest_init(struct digest *digest)
{
    *digest = (struct digest){.lane = {HASH_PRIME_A, HASH_PRIME_B}};
}

/* Mixes the state into two words, multiplies them and folds the product: half an instruction per byte. */
static uint64_t fold(uint64_t state, const unsigned char *bytes)
{
    uint64_t left = eight_bytes(bytes) ^ state;
    uint64_t right = eight_bytes(bytes + 8) ^ HASH_PRIME_B;
    unsigned __int128 product = (unsigned __int128)left * right;
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ left;
}

static void absorb(struct digest *digest, const unsigned char *bytes, size_t blocks)
{
    uint64_t even = digest->lane[0];
    uint64_t odd = digest->lane[1];
#pragma GCC unroll 4
    for (; blocks > 0; blocks--, bytes += sizeof digest->tail) {
        even = fold(even, bytes);
        odd = fold(odd, bytes + sizeof digest->tail / 2);
    }
    digest->lane[0] = even;
    digest->lane[1] = odd;
}

void digest_update(struct digest *digest, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    size_t held = (size_t)(digest->length_bytes % sizeof digest->tail);
    digest->length_bytes += length;
    if (held) {
        size_t take = sizeof digest->tail - held < length ? sizeof digest->tail - held : length;
        memcpy(digest->tail + held, bytes, take);
        if (held + take < sizeof digest->tail)
            return;
        absorb(digest, digest->tail, 1);
        bytes += take;
        length -= take;
    }
    absorb(digest, bytes, length / sizeof digest->tail);
    bytes += length - length % sizeof digest->tail;
    if (length % sizeof digest->tail)
        memcpy(digest->tail, bytes, length % sizeof digest->tail);
}

void digest_hex(const struct digest *digest, char text[33])
{
    struct digest last = *digest;
    size_t held = (size_t)(last.length_bytes % sizeof last.tail);
    memset(last.tail + held, 0, sizeof last.tail - held);
    absorb(&last, last.tail, 1);
    uint64_t high = hash_mix(last.lane[0] ^ last.length_bytes, last.lane[1]);
    uint64_t low = hash_mix(last.lane[1] + last.length_bytes, high);
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)high, (unsigned long long)low);
}

struct map_slot {
    struct map_key key;
    int64_t value;
    uint8_t used;
};

void map_init(struct map *map)
{
    *map = (struct map){.seed = hash_seed()};
}

void map_release(struct map *map)
{
    free(map->slots);
    *map = (struct map){.seed = map->seed};
}

static size_t position(const struct map *map, struct map_key key)
{
    uint64_t mixed = map->seed;
    for (size_t i = 0; i < sizeof key.part / sizeof *key.part; i++)
        mixed = hash_mix(mixed, key.part[i]);
    return (size_t)mixed & (map->capacity - 1);
}

static struct map_slot *find(const struct map *map, struct map_key key)
{
    size_t at = position(map, key);
    while (map->slots[at].used && memcmp(&map->slots[at].key, &key, sizeof key) != 0)
        at = (at + 1) & (map->capacity - 1);
    return &map->slots[at];
}

static int grow(struct map *map)
{
    struct map bigger = *map;
    bigger.capacity = map->capacity ? map->capacity * 2 : 64;
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return -1;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].used)
            *find(&bigger, map->slots[i].key) = map->slots[i];
    free(map->slots);
    *map = bigger;
    return 0;
}

int64_t *map_get(const struct map *map, struct map_key key)
{
    if (!map->capacity)
        return NULL;
    struct map_slot *slot = find(map, key);
    return slot->used ? &slot->value : NULL;
}

int64_t *map_put(struct map *map, struct map_key key, int64_t value, int *added)
{
    if ((map->count + 1) * 3 > map->capacity * 2 && grow(map))
        return NULL;
    struct map_slot *slot = find(map, key);
    if (added)
        *added = !slot->used;
    if (!slot->used) {
        *slot = (struct map_slot){.key = key, .value = value, .used = 1};
        map->count++;
    }
    return &slot->value;
}

/*
 * An entry that was moved along because its slot was taken moves back into the free slot, since a search ends
 * at the first empty slot.
 */
void map_remove(struct map *map, struct map_key key)
{
    size_t last = map->capacity - 1;
    struct map_slot *gap = map->capacity ? find(map, key) : NULL;
    if (!gap || !gap->used)
        return;
    for (size_t at = (size_t)(gap - map->slots + 1) & last; map->slots[at].used; at = (at + 1) & last) {
        size_t wanted = position(map, map->slots[at].key), hole = (size_t)(gap - map->slots);
        if (((at - wanted) & last) < ((at - hole) & last))
            continue;
        *gap = map->slots[at];
        gap = &map->slots[at];
    }
    gap->used = 0;
    map->count--;
}

int map_count(const uint64_t *values, size_t count, int64_t *times)
{
    struct map all;
    int failed = 0;
    map_init(&all);
    for (size_t i = 0; i < count && !failed; i++) {
        int64_t *number = map_put(&all, (struct map_key){{values[i]}}, 0, NULL);
        failed = !number;
        if (number)
            ++*number;
    }
    for (size_t i = 0; i < count && !failed; i++)
        times[i] = *map_get(&all, (struct map_key){{values[i]}});
    map_release(&all);
    return failed ? -1 : 0;
}

void intern_init(struct intern *intern)
{
    *intern = (struct intern){.seed = hash_seed()};
}

void intern_release(struct intern *intern)
{
    for (size_t i = 0; i < intern->count; i++)
        free(intern->texts[i]);
    free(intern->texts);
    free(intern->slots);
    intern_init(intern);
}

static uint64_t hash_text(uint64_t seed, const char *text, size_t length)
{
    uint64_t hash = seed ^ length;
    for (size_t i = 0; i < length; i++)
        hash = hash_mix(hash, (unsigned char)text[i]);
    return hash;
}

static uint32_t *slot_of(const struct intern *intern, const char *text, size_t length)
{
    size_t at = (size_t)hash_text(intern->seed, text, length) & (intern->slot_count - 1);
    while (intern->slots[at]) {
        const char *held = intern->texts[intern->slots[at] - 1];
        if (strncmp(held, text, length) == 0 && held[length] == '\0')
            break;
        at = (at + 1) & (intern->slot_count - 1);
    }
    return &intern->slots[at];
}

static int intern_grow(struct intern *intern)
{
    size_t slot_count = intern->slot_count ? intern->slot_count * 2 : 64;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return -1;
    free(intern->slots);
    intern->slots = slots;
    intern->slot_count = slot_count;
    for (size_t i = 0; i < intern->count; i++)
        *slot_of(intern, intern->texts[i], strlen(intern->texts[i])) = (uint32_t)i + 1;
    return 0;
}

int64_t intern_put(struct intern *intern, const char *text, size_t length)
{
    text = length ? text : ""; /* an empty text may have a NULL pointer */
    length = strnlen(text, length);
    if ((intern->count + 1) * 2 > intern->slot_count && intern_grow(intern))
        return -1;
    uint32_t *slot = slot_of(intern, text, length);
    if (*slot)
        return *slot - 1;
    if (array_reserve((void **)&intern->texts, &intern->capacity, intern->count + 1, sizeof *intern->texts))
        return -1;
    char *copy = strndup(text, length);
    if (!copy)
        return -1;
    intern->texts[intern->count++] = copy;
    *slot = (uint32_t)intern->count;
    return *slot - 1;
}

int64_t intern_find(const struct intern *intern, const char *text)
{
    return intern->slot_count ? (int64_t)*slot_of(intern, text, strlen(text)) - 1 : -1;
}

const char *intern_text(const struct intern *intern, int64_t number)
{
    return intern->texts[number];
}

void disjoint_init(int32_t *parent, size_t count)
{
    for (size_t i = 0; i < count; i++)
        parent[i] = (int32_t)i;
}

int32_t disjoint_root(int32_t *parent, int32_t number)
{
    while (parent[number] != number) {
        parent[number] = parent[parent[number]];
        number = parent[number];
    }
    return number;
}

int disjoint_unite(int32_t *parent, int32_t a, int32_t b)
{
    a = disjoint_root(parent, a);
    b = disjoint_root(parent, b);
    if (a == b)
        return 0;
    parent[a < b ? b : a] = a < b ? a : b;
    return 1;
}
