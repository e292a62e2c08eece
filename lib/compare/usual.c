#include "compare/usual.h"

#include "base/array.h"

#include <stdlib.h>

static int is_warm_up(const struct baseline *baseline, int32_t step)
{
    if (step < baseline->started_step)
        return 1;
    for (size_t i = 0; i < baseline->warm_up_count; i++)
        if (baseline->warm_up[i] == step)
            return 1;
    return 0;
}

static int is_told_of(const struct findings *findings, int32_t step)
{
    for (size_t i = 0; i < findings->count; i++)
        if (finding_is_told(&findings->items[i]) && finding_has_step(&findings->items[i], step))
            return 1;
    return 0;
}

/* The stretch that most of the steps are of. */
static int32_t main_stretch(const struct usual *usual, const struct baseline *baseline, int32_t *counts)
{
    int32_t best = 0;
    for (size_t i = 0; i < usual->count; i++) {
        int32_t stretch = baseline->stretch_of_step[usual->steps[i]];
        if (++counts[stretch] > counts[best])
            best = stretch;
    }
    return best;
}

static void keep_stretch(struct usual *usual, const struct baseline *baseline, int32_t stretch)
{
    size_t kept = 0;
    for (size_t i = 0; i < usual->count; i++)
        if (baseline->stretch_of_step[usual->steps[i]] == stretch)
            usual->steps[kept++] = usual->steps[i];
    usual->count = kept;
}

static void leave_out_told(struct usual *usual, const struct findings *findings)
{
    size_t told = 0, kept = 0;
    for (size_t i = 0; i < usual->count; i++)
        told += (size_t)is_told_of(findings, usual->steps[i]);
    if (told > usual->count / 2)
        return;
    for (size_t i = 0; i < usual->count; i++)
        if (!is_told_of(findings, usual->steps[i]))
            usual->steps[kept++] = usual->steps[i];
    usual->count = kept;
}

static void set_places(struct usual *usual, int32_t step_count)
{
    for (int32_t step = 0; step < step_count; step++)
        usual->places[step] = -1;
    for (size_t i = 0; i < usual->count; i++)
        usual->places[usual->steps[i]] = (int32_t)i;
}

int usual_find(struct usual *usual, const struct job *job, const struct baseline *baseline,
               const struct findings *findings)
{
    size_t steps = (size_t)job->step_count + 2;
    *usual = (struct usual){.steps = array_new(steps, sizeof *usual->steps),
                            .places = array_new(steps, sizeof *usual->places)};
    int32_t *counts = array_new(steps, sizeof *counts);
    if (!usual->steps || !usual->places || !counts) {
        free(counts);
        return -1;
    }
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        if (is_warm_up(baseline, step))
            continue;
        usual->after_warm_up++;
        if (baseline->step_ns[step] != TIME_UNKNOWN)
            usual->steps[usual->count++] = step;
    }
    keep_stretch(usual, baseline, main_stretch(usual, baseline, counts));
    free(counts);
    leave_out_told(usual, findings);
    set_places(usual, job->step_count);
    return 0;
}

void usual_release(struct usual *usual)
{
    free(usual->steps);
    free(usual->places);
    *usual = (struct usual){.steps = NULL};
}
