#include "diagnose/cost.h"

#include "base/scale.h"
#include "job/stages.h"

/*
 * What the same rank was late by in the same steps where that may be unrecorded sends that its slow network
 * held: the network's, too.
 */
static int64_t held_back(const struct suspects *suspects, const struct suspect *suspect)
{
    int64_t held_ns = 0;
    for (size_t i = 0; suspect->kind == FINDING_NETWORK && i < suspects->count; i++) {
        const struct suspect *other = &suspects->items[i];
        if (other->hides_pairs && other->rank == suspect->rank && suspects_are_together(suspect, other))
            held_ns += other->gain_ns;
    }
    return held_ns;
}

/* Of what the gains of all suspicions leave of longer steps, its part: by its gain, as nothing else tells. */
static int64_t part_of_rest(const struct suspect *suspect, const struct lengthening *lengthening,
                            int64_t cost_ns)
{
    double gain = (double)(suspect->gain_ns > 0 ? suspect->gain_ns : 0),
           beside = (double)lengthening->beside_ns;
    return beside > 0 ? scale(lengthening->rest_ns - cost_ns, gain / (gain + beside))
                      : lengthening->rest_ns - cost_ns;
}

/*
 * What a suspicion cost at most, as the length of its steps says it: where waiting is passed on from stage to
 * stage by what the recorder leaves out, what partners waited may pass while another stage is at work still.
 */
static int64_t most_shown(const struct lengthening *lengthening, const struct job *job,
                          enum confidence confidence)
{
    if (confidence == CONFIDENCE_LOW || lengthening->most_ns == INT64_MAX)
        return most_unshared(lengthening);
    if (!job_hides_pairs_of_stages(job))
        return lengthening->most_ns;
    return lengthening->longer_ns > 0 ? lengthening->longer_ns : 0;
}

int64_t cost_of(const struct suspects *suspects, const struct suspect *suspect,
                const struct lengthening *lengthening, const struct job *job, enum confidence confidence)
{
    int64_t cost_ns = suspect->gain_ns;
    if (confidence != CONFIDENCE_LOW)
        cost_ns += held_back(suspects, suspect);
    if (job->blind_to_pairs && confidence != CONFIDENCE_LOW && suspect->margin_ns > cost_ns)
        cost_ns = suspect->margin_ns;
    int64_t most_ns = most_shown(lengthening, job, confidence);
    if (cost_ns > most_ns)
        cost_ns = most_ns;
    if (confidence == CONFIDENCE_LOW || cost_ns > lengthening->rest_ns ||
        (double)lengthening->rest_ns > limit_of(LIMIT_UNEXPLAINED) * (double)suspect->total_ns)
        return cost_ns;
    return cost_ns + part_of_rest(suspect, lengthening, cost_ns);
}
