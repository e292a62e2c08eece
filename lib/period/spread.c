#include "period/spread.h"

int32_t spread_of(const struct recurrence *recurrence, const size_t *places, size_t first, size_t end)
{
    int32_t only = SPREAD_NONE;
    for (size_t i = first; i < end; i++) {
        size_t at = places ? places[i] : i;
        int32_t here = recurrence->is_small[at] ? SPREAD_NONE : recurrence->communicators[at];
        if (here >= 0 && only >= 0 && here != only)
            return SPREAD_SEVERAL;
        only = here >= 0 ? here : only;
    }
    return only;
}
