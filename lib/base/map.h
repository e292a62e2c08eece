#ifndef NCCLPROF_BASE_MAP_H
#define NCCLPROF_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * A hash map from keys of up to four 64-bit numbers to one 64-bit number (an index or a row id). Keys mix
 * through a seed chosen at map_init, so that a file cannot be made to collide. Open addressing.
 */
struct map_key {
    uint64_t part[4];
};

struct map {
    struct map_slot *slots; /* owned */
    size_t capacity;        /* a power of two, or 0 */
    size_t count;
    uint64_t seed;
};

void map_init(struct map *map);
void map_release(struct map *map);

/* The value under `key`, or NULL. Valid until the next map_put or map_remove. */
int64_t *map_get(const struct map *map, struct map_key key);

/*
 * The value under `key`, which is put there as `value` when it was absent (*added, if not NULL, tells).
 * NULL when memory is out. Valid until the next map_put or map_remove.
 */
int64_t *map_put(struct map *map, struct map_key key, int64_t value, int *added);

/* Forgets `key`; nothing happens when it is absent. */
void map_remove(struct map *map, struct map_key key);

/* How often each value comes among all of them, in `times` (room for count). Returns -1 when memory is out.
 */
int map_count(const uint64_t *values, size_t count, int64_t *times);

#endif
