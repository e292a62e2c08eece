#include "verdict/finding.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static void release(struct finding *finding)
{
    free(finding->peers);
    free(finding->ranks);
    buffer_release(&finding->evidence);
}

void findings_release(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        release(&findings->items[i]);
    free(findings->items);
    *findings = (struct findings){0};
}

void findings_remove(struct findings *findings, size_t at)
{
    release(&findings->items[at]);
    memmove(&findings->items[at], &findings->items[at + 1],
            (--findings->count - at) * sizeof *findings->items);
}

int finding_has_step(const struct finding *finding, int32_t step)
{
    return step >= finding->first_step && step <= finding->last_step &&
           (finding->period < 2 || (step - finding->first_step) % finding->period == 0);
}

int finding_has_rank(const struct finding *finding, int32_t rank)
{
    for (size_t i = 0; i < finding->rank_count; i++)
        if (finding->ranks[i] == rank)
            return 1;
    return finding->rank == rank;
}

struct finding *findings_add(struct findings *findings)
{
    if (array_reserve((void **)&findings->items, &findings->capacity, findings->count + 1,
                      sizeof *findings->items))
        return NULL;
    struct finding *finding = &findings->items[findings->count++];
    *finding = (struct finding){.rank = -1, .tag = -1, .first_step = -1, .last_step = -1};
    return finding;
}

struct finding *findings_add_at(struct findings *findings, enum finding_kind kind, int32_t rank,
                                const struct job_instance *instance)
{
    struct finding *finding = findings_add(findings);
    if (finding) {
        finding->kind = kind;
        finding->rank = rank;
        finding->tag = instance->tag;
        finding->first_step = finding->last_step = instance->step;
    }
    return finding;
}

int finding_ask(const struct findings *findings, struct finding *finding, enum rule_id rule, double reading)
{
    if (findings->off.has[rule])
        return 0;
    readings_note(&finding->readings, finding->kind, rule, reading);
    if (!readings_speak(&finding->readings, rule))
        return 0;
    if (rules[rule].at_most < finding->confidence)
        finding->confidence = rules[rule].at_most;
    return 1;
}

int finding_add_peer(struct finding *finding, int32_t rank)
{
    size_t at = finding->peer_count;
    while (at > 0 && finding->peers[at - 1] > rank)
        at--;
    if (at > 0 && finding->peers[at - 1] == rank)
        return 0;
    if (array_reserve((void **)&finding->peers, &finding->peer_capacity, finding->peer_count + 1,
                      sizeof *finding->peers))
        return -1;
    memmove(finding->peers + at + 1, finding->peers + at,
            (finding->peer_count - at) * sizeof *finding->peers);
    finding->peers[at] = rank;
    finding->peer_count++;
    return 0;
}

const char *finding_kind_name(enum finding_kind kind)
{
    static const char *const names[] = {"compute", "host", "network", "missing", "mismatch", "ended_early"};
    return names[kind];
}

const char *confidence_name(enum confidence confidence)
{
    static const char *const names[] = {"low", "medium", "high"};
    return names[confidence];
}

int findings_stop_job(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].stops_job)
            return 1;
    return 0;
}

/* How many steps it is of. */
static int32_t finding_steps(const struct finding *finding)
{
    return (finding->last_step - finding->first_step) / (finding->period > 1 ? finding->period : 1) + 1;
}

int findings_explain(const struct findings *findings, int32_t step, int64_t longer_ns)
{
    int64_t said_ns = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->confidence == CONFIDENCE_LOW && finding->kind < FINDING_MISSING)
            continue;
        int32_t last = finding->last_step + (finding->shows_later ? 1 : 0);
        int32_t first = finding->first_step == finding->last_step ? last : finding->first_step;
        if (step < first - (finding->shows_earlier ? 1 : 0) || step > last ||
            (finding->period > 1 && !finding_has_step(finding, step)))
            continue;
        if (finding->stops_job)
            return 1;
        said_ns += finding->lost_ns / finding_steps(finding);
    }
    return said_ns >= longer_ns / 2;
}
