#include "base/map.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

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

/* Whoever was put further on because the slot was taken moves up: nobody is looked for past an empty slot. */
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
