#include "score/explanation.h"

int explanation_has_rank(const struct explanation *explanation, int32_t rank)
{
    return explanation->partition->unit_of[rank] == (int32_t)explanation->unit;
}

int explanation_has_step(const struct explanation *explanation, int32_t step)
{
    return step_set_has(&explanation->steps, step);
}

int32_t explanation_count(const struct explanation *explanation)
{
    return step_set_count(&explanation->steps);
}

int explanation_is_hosts(const struct explanation *explanation)
{
    return explanation->host_ns * 2 > explanation->more_ns;
}

/*
 * A GPU that is surely slow for a while, or what recurs, may be worth what its partners lost, as long as it
 * gains anything: of two branches that are slow at once neither gains alone, and waiting that no operation
 * shows stays in the replay. Hosts have moments together: one that is latest of late ones is none.
 */
int explanation_counts_partners(const struct explanation *explanation)
{
    return !explanation->is_steady && unit_size(explanation->partition, explanation->unit) == 1 &&
           (explanation->steps.period > 1 || !explanation_is_hosts(explanation));
}
