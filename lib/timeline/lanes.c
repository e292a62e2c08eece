#include "timeline/lanes.h"

int lanes_place(struct lanes *lanes, int64_t begin_ns, int64_t end_ns)
{
    int lane = 0;
    while (lane < lanes->count && lanes->end_ns[lane] > begin_ns)
        lane++;
    if (lane == LANES_MOST)
        return -1;
    lanes->count += lane == lanes->count;
    lanes->end_ns[lane] = end_ns;
    return lane;
}
