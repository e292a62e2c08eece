/*
 * Single steps in which a unit exceeds all others: the greatest values of each step, and the steps and units
 * that do not count. explain_search.c proposes the hypotheses.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/score.h"
#include "job/job.h"

#include <math.h>

void explanation_search_note_peaks(struct explanation_search *it, size_t number, size_t unit)
{
    for (int32_t step = 0; step < it->source.baseline->step_count; step++) {
        struct peak *peak = &it->peaks[number][step];
        double value = isnan(it->row[step]) ? 0 : it->row[step];
        if (value > peak->most) {
            peak->second = peak->most;
            peak->most = value;
            peak->unit = (int32_t)unit;
        } else if (value > peak->second) {
            peak->second = value;
        }
    }
}

int explanation_search_is_late_with_others(const struct explanation_search *it,
                                           const struct partition *partition, size_t unit, size_t step)
{
    size_t steps = (size_t)it->source.baseline->step_count, ranks = it->source.job->rank_count;
    const int64_t *late_ns = it->source.baseline->late_ns;
    int64_t mine_ns = late_ns[(size_t)partition->ranks[partition->first[unit]] * steps + step];
    for (size_t rank = 0; rank < ranks; rank++)
        it->list[rank] = late_ns[rank * steps + step];
    return mine_ns > 0 && pick_quantile(it->list, ranks, 0.5) * 3 >= mine_ns * 2;
}

/* A delay compares with another if it is at least this part of it. */
static const double COMPARABLE = 0.25;

int explanation_search_is_usually_last(const struct explanation_search *it, size_t number, size_t unit,
                                       double greatest)
{
    size_t known = 0, has = 0;
    for (int32_t step = it->source.baseline->first_step; step < it->source.baseline->step_count; step++) {
        const struct peak *peak = &it->peaks[number][step];
        int is_of_unit = peak->unit == (int32_t)unit;
        if (peak->most <= 0 || (is_of_unit && peak->most > greatest))
            continue;
        known++;
        has += is_of_unit && peak->most >= COMPARABLE * greatest;
    }
    return has * 2 > known;
}

int32_t explanation_search_unit_of_peak(const struct explanation_search *it, size_t number)
{
    const struct peak *peaks = it->peaks[number], *most = &peaks[0];
    for (int32_t step = 1; step < it->source.baseline->step_count; step++)
        if (peaks[step].most > most->most)
            most = &peaks[step];
    return most->most > 0 ? most->unit : -1;
}
