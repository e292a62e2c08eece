#include "verdict/finding_place.h"

#include "base/intern.h"

#include <string.h>

const char *finding_host(const struct finding *finding, const struct job *job)
{
    const char *host = job->ranks[finding->rank].facts.host;
    if (finding->candidate_count)
        return NULL;
    for (size_t i = 0; host && i < finding->rank_count; i++) {
        const char *other = job->ranks[finding->ranks[i]].facts.host;
        if (!other || strcmp(other, host) != 0)
            return NULL;
    }
    return host;
}

const char *finding_whole_host(const struct finding *finding, const struct job *job)
{
    const char *host = finding->rank_count > 1 ? finding_host(finding, job) : NULL;
    size_t there = 0;
    for (size_t i = 0; host && i < job->rank_count; i++)
        there += job->ranks[i].facts.host && strcmp(job->ranks[i].facts.host, host) == 0;
    return there == finding->rank_count ? host : NULL;
}

int job_count_hosts(const struct job *job, size_t *count)
{
    struct intern hosts;
    int is_known = 1, failed = 0;
    intern_init(&hosts);
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        const char *host = job->ranks[i].facts.host;
        is_known &= host || !job->ranks[i].count;
        failed = host && intern_put(&hosts, host, strlen(host)) < 0;
    }
    *count = is_known ? hosts.count : 0;
    intern_release(&hosts);
    return failed ? -1 : 0;
}

const struct roster_facts *finding_facts(const struct finding *finding, const struct job *job)
{
    return finding->candidate_count || finding->rank_count > 1 ? NULL : &job->ranks[finding->rank].facts;
}

const char *finding_source(const struct finding *finding, const struct job *job)
{
    int32_t operation = finding->called >= 0 ? finding->called : finding->operation;
    return operation < 0 ? NULL : job_source(job, (size_t)operation);
}
