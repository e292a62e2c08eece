#include "stalls/stalls.h"

#include <stdlib.h>

void stalls_init(struct stalls *stalls)
{
    *stalls = (struct stalls){.by_communicator = 1};
    intern_init(&stalls->tags);
    struct map *maps[] = {&stalls->made_seats, &stalls->edge_of, &stalls->cell_of, &stalls->place_of};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        map_init(maps[i]);
}

void stalls_release(struct stalls *stalls)
{
    for (size_t i = 0; i < stalls->seat_count; i++)
        free(stalls->seats[i].name);
    for (size_t i = 0; i < stalls->edge_count; i++) {
        free(stalls->edges[i].send.items);
        free(stalls->edges[i].receive.items);
    }
    free(stalls->runs);
    free(stalls->seats);
    roster_release(&stalls->roster);
    free(stalls->edges);
    free(stalls->cells);
    intern_release(&stalls->tags);
    struct map *maps[] = {&stalls->made_seats, &stalls->edge_of, &stalls->cell_of, &stalls->place_of};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        map_release(maps[i]);
}
