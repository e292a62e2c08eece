#include "plugin/tree/node.h"

#include <string.h>
#include <sys/mman.h>

/* Anonymous maps: pages that are never needed cost nothing. */
static void *map_bytes(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static size_t nodes_bytes(const struct node_pool *pool)
{
    return ((size_t)pool->capacity + 1) * sizeof(struct node);
}

static size_t places_bytes(const struct node_pool *pool)
{
    return ((size_t)pool->place_mask + 1) * sizeof(uint32_t);
}

int node_pool_init(struct node_pool *pool, uint32_t capacity)
{
    uint64_t places = 1024;
    while (places < (uint64_t)capacity * 2)
        places *= 2;
    *pool = (struct node_pool){.capacity = capacity, .place_mask = (uint32_t)(places - 1)};
    pool->nodes = map_bytes(nodes_bytes(pool));
    pool->places = map_bytes(places_bytes(pool));
    if (pool->nodes && pool->places)
        return 0;
    node_pool_release(pool);
    return -1;
}

void node_pool_release(struct node_pool *pool)
{
    if (pool->nodes)
        munmap(pool->nodes, nodes_bytes(pool));
    if (pool->places)
        munmap(pool->places, places_bytes(pool));
    *pool = (struct node_pool){0};
}

/* A thread's handles count up: sixteen of them share a cache line of places. */
static uint32_t home(const struct node_pool *pool, uint64_t handle)
{
    uint32_t line = (uint32_t)((handle >> 4) * 0x9e3779b97f4a7c15u >> 32);
    return (line << 4 | (uint32_t)(handle & 15)) & pool->place_mask;
}

uint32_t node_find(const struct node_pool *pool, uint64_t handle)
{
    if (handle == 0)
        return 0;
    for (uint32_t place = home(pool, handle);; place = (place + 1) & pool->place_mask) {
        uint32_t number = pool->places[place];
        if (number == 0 || pool->nodes[number].handle == handle)
            return number;
    }
}

uint32_t node_add(struct node_pool *pool, uint64_t handle)
{
    uint32_t number = pool->free_head;
    if (number)
        pool->free_head = pool->nodes[number].next_sibling;
    else if (pool->used < pool->capacity)
        number = ++pool->used;
    else
        return 0;
    memset(&pool->nodes[number], 0, sizeof(pool->nodes[number]));
    pool->nodes[number].handle = handle;
    pool->in_use++;
    uint32_t place = home(pool, handle);
    while (pool->places[place])
        place = (place + 1) & pool->place_mask;
    pool->places[place] = number;
    return number;
}

/* Closes the gap at `place`: moves back whatever lies further from its home than the gap does. */
static void close_gap(struct node_pool *pool, uint32_t place)
{
    uint32_t mask = pool->place_mask;
    for (uint32_t next = (place + 1) & mask; pool->places[next]; next = (next + 1) & mask) {
        uint32_t wanted = home(pool, pool->nodes[pool->places[next]].handle);
        if (((next - wanted) & mask) >= ((next - place) & mask)) {
            pool->places[place] = pool->places[next];
            place = next;
        }
    }
    pool->places[place] = 0;
}

void node_remove(struct node_pool *pool, uint32_t number)
{
    uint32_t place = home(pool, pool->nodes[number].handle);
    while (pool->places[place] != number)
        place = (place + 1) & pool->place_mask;
    close_gap(pool, place);
    pool->nodes[number].next_sibling = pool->free_head;
    pool->free_head = number;
    pool->in_use--;
}
