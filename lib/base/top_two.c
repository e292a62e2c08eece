#include "base/top_two.h"

void contest_enter(struct contest *contest, int32_t rank, int64_t value)
{
    if (value > contest->most) {
        contest->second = contest->most;
        contest->most = value;
        contest->rank = rank;
    } else if (value > contest->second) {
        contest->second = value;
    }
}
