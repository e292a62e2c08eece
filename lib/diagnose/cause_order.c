/* Which of the causes that were found count, and in which order. */
#include "base/base.h"
#include "diagnose/finding.h"

enum { MOST_CAUSES = 4 /* of a finding */ };

/*
 * What says by itself that something is wrong comes first; then what is known of the rank's own process, GPU
 * or links, because what its host shows may be due to other ranks; then what stands out most.
 */
static int by_strength(const void *a, const void *b)
{
    const struct cause *left = a, *right = b;
    if (left->rule->is_statement != right->rule->is_statement)
        return right->rule->is_statement - left->rule->is_statement;
    if ((left->rule->place == CAUSE_ON_HOST) != (right->rule->place == CAUSE_ON_HOST))
        return left->rule->place == CAUSE_ON_HOST ? 1 : -1;
    if (left->strength != right->strength)
        return left->strength < right->strength ? 1 : -1;
    return (left->rule > right->rule) - (left->rule < right->rule);
}

typedef int cause_condition(const struct cause *cause, const struct cause_places *places);

/* Releases the causes for which a condition holds. The others keep their order. */
static void drop_causes(struct finding *finding, cause_condition *is_dropped,
                        const struct cause_places *places)
{
    size_t kept = 0;
    for (size_t i = 0; i < finding->cause_count; i++) {
        if (is_dropped(&finding->causes[i], places))
            cause_release(&finding->causes[i]);
        else
            finding->causes[kept++] = finding->causes[i];
    }
    finding->cause_count = kept;
}

static int is_slow_gpu(const struct cause *cause, const struct cause_places *places)
{
    return cause_is_slow_gpu(cause->rule);
}

/*
 * A host that waits for its slow GPU is late. Where something else is known to hold it up, or where its proxy
 * threads are late, what slows the GPU explains nothing. A stack shows one moment, which refutes nothing.
 */
static void drop_slow_gpu(struct finding *finding)
{
    int is_other = finding->notice_ns != 0;
    for (size_t i = 0; i < finding->cause_count; i++)
        is_other |= finding->causes[i].rule->side != CAUSE_STACK &&
                    finding->causes[i].rule->place != CAUSE_ON_GPU &&
                    finding->causes[i].rule->place != CAUSE_ON_NETWORK;
    if (is_other)
        drop_causes(finding, is_slow_gpu, NULL);
}

static int is_of_own_link(const struct cause *cause, const struct cause_places *places)
{
    return cause->rule->place == CAUSE_ON_NETWORK && cause_host_is_blamed(places, cause->at_host);
}

static int is_of_other_end(const struct cause *cause, const struct cause_places *places)
{
    return cause->rule->place == CAUSE_ON_NETWORK && !cause_host_is_blamed(places, cause->at_host);
}

/* What is known of the rank's own links comes before what is known of the other ends. */
static void drop_other_ends(struct finding *finding, const struct cause_places *places)
{
    int has_own = 0;
    for (size_t i = 0; i < finding->cause_count; i++)
        has_own |= is_of_own_link(&finding->causes[i], places);
    if (has_own)
        drop_causes(finding, is_of_other_end, places);
}

void causes_choose(struct finding *finding, const struct cause_places *places)
{
    if (finding->kind == FINDING_HOST)
        drop_slow_gpu(finding);
    drop_other_ends(finding, places);
    array_sort(finding->causes, finding->cause_count, sizeof *finding->causes, by_strength);
    for (; finding->cause_count > MOST_CAUSES; finding->cause_count--)
        cause_release(&finding->causes[finding->cause_count - 1]);
}

static int was_before(const struct cause *cause, const struct cause_places *places)
{
    return cause->was_before;
}

/*
 * What showed already while the steps were as usual does not cause the fault. Where samples are too rare to
 * compare the times, the last one before tells.
 */
void causes_drop_earlier(struct finding *finding)
{
    drop_causes(finding, was_before, NULL);
}
