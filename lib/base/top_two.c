#include "base/top_two.h"

void top_two_enter(struct top_two *top, int32_t rank, int64_t value)
{
    if (value > top->most) {
        top->second = top->most;
        top->most = value;
        top->rank = rank;
    } else if (value > top->second) {
        top->second = value;
    }
}
