#include "compare/changed_findings.h"

#include "base/array.h"

#include <math.h>
#include <string.h>

/* The costliest of a key that is told; *lost_us is what all of that key cost, whatever is believed of them.
 */
static const struct measured_finding *told(const struct measured_run *run, const char *key, double *lost_us)
{
    const struct measured_finding *found = NULL;
    *lost_us = 0;
    for (size_t i = 0; i < run->finding_count; i++) {
        const struct measured_finding *finding = &run->findings[i];
        if (strcmp(finding->key, key) != 0)
            continue;
        *lost_us += finding->lost_us;
        if (finding->is_told && (!found || finding->lost_us > found->lost_us))
            found = finding;
    }
    return found;
}

static int is_compared(const struct comparisons *all, const char *key)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].kind == COMPARED_FINDING && strcmp(all->items[i].key, key) == 0)
            return 1;
    return 0;
}

/* Two that cost as much within what a cost is known by are one that stayed. */
static void judge(struct comparison *of)
{
    double least = fmin(of->values[0], of->values[1]);
    of->rule = COMPARE_RESIZED;
    of->verdict = COMPARED_BEYOND;
    if (!of->found[0] || !of->found[1])
        return;
    of->noise = (compare_limit(COMPARE_RESIZED) - 1) * least;
    if (!(fabs(of->change) > of->noise))
        of->verdict = COMPARED_WITHIN;
}

static int add(struct comparisons *all, const struct measured_finding *finding)
{
    if (!finding->is_told || is_compared(all, finding->key))
        return 0;
    if (array_reserve((void **)&all->items, &all->capacity, all->count + 1, sizeof *all->items))
        return -1;
    struct comparison *of = &all->items[all->count++];
    *of = (struct comparison){.kind = COMPARED_FINDING,
                              .key = finding->key,
                              .tag = finding->tag,
                              .noise = (double)NAN,
                              .whole = (double)NAN,
                              .chance = (double)NAN};
    for (int side = 0; side < 2; side++)
        of->found[side] = told(all->runs[side], finding->key, &of->values[side]);
    of->change = of->values[1] - of->values[0];
    judge(of);
    return 0;
}

int compare_findings(struct comparisons *all)
{
    for (int side = 1; side >= 0; side--)
        for (size_t i = 0; i < all->runs[side]->finding_count; i++)
            if (add(all, &all->runs[side]->findings[i]))
                return -1;
    return 0;
}

int changed_finding_is_worse(const struct comparison *of)
{
    return of->found[1] && (!of->found[0] || of->change > 0);
}
