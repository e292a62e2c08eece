#include "support/written.h"

enum { MOST = 4096, LISTS = 8 };

struct excess_list *written_excess(struct excess *excess)
{
    static int32_t numbers[MOST];
    static struct excess_list lists[LISTS];
    static size_t calls;
    for (int32_t i = 0; i < MOST; i++)
        numbers[i] = EXCESS_WRITTEN + i;
    struct excess_list *list = &lists[calls++ % LISTS];
    *list = (struct excess_list){.brief = numbers, .written = excess, .count = MOST, .capacity = MOST};
    return list;
}
