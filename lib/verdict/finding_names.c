#include "verdict/finding_names.h"

#include "verdict/finding_place.h"

/* More than so many candidates are counted, and named in JSON alone. */
enum { CANDIDATES_NAMED = 4, RANKS_NAMED = 16 };

/* "rank 3 or rank 5", "one of 12 ranks (the first: rank 0)". */
static int name_candidates(const struct finding *finding, const struct job *job, struct buffer *text)
{
    size_t count = finding->candidate_count;
    if (count > CANDIDATES_NAMED)
        return buffer_printf(text, "one of %zu ranks (the first: rank %s)", count,
                             job->ranks[finding->rank].name);
    for (size_t i = 0; i < count; i++)
        if (buffer_printf(text, "%srank %s",
                          i == 0          ? ""
                          : i + 1 < count ? ", "
                                          : " or ",
                          job->ranks[finding->candidates[i]].name))
            return -1;
    return 0;
}

/* "rank 3", "ranks 8 to 15", "ranks 2, 5 and 7": who is at fault. */
static int name_several(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const int32_t *ranks = finding->ranks;
    size_t last = finding->rank_count - 1;
    if (last > 1 && ranks[last] - ranks[0] == (int32_t)last)
        return buffer_printf(text, "ranks %s to %s", job->ranks[ranks[0]].name, job->ranks[ranks[last]].name);
    int failed = buffer_append_text(text, "ranks ");
    for (size_t i = 0; !failed && i <= last; i++)
        failed = buffer_printf(text, "%s%s",
                               i == 0      ? ""
                               : i == last ? " and "
                                           : ", ",
                               job->ranks[ranks[i]].name);
    return failed;
}

int finding_name_ranks(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const char *host = finding_whole_host(finding, job);
    if (finding->candidate_count)
        return name_candidates(finding, job, text);
    if (!finding->rank_count)
        return buffer_printf(text, "rank %s", job->ranks[finding->rank].name);
    return host ? buffer_printf(text, "host %s (", host) || name_several(finding, job, text) ||
                      buffer_append_byte(text, ')')
                : name_several(finding, job, text);
}

int finding_holds_of_all(const struct finding *finding)
{
    return finding->unmade && finding->unmade != UNMADE_ONE_OF;
}

int finding_name_all(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const struct finding all = {
        .rank = finding->rank, .ranks = finding->candidates, .rank_count = finding->candidate_count};
    if (finding->candidate_count > RANKS_NAMED)
        return buffer_printf(text, "%zu ranks (the first: rank %s)", finding->candidate_count,
                             job->ranks[finding->rank].name);
    return finding->candidate_count > 1 ? name_several(&all, job, text)
                                        : finding_name_ranks(finding, job, text);
}

int finding_name_unit(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const char *host = finding_whole_host(finding, job);
    return host ? buffer_printf(text, "host %s", host) : finding_name_ranks(finding, job, text);
}

int finding_name_peers(const struct finding *finding, const struct job *job, struct buffer *names)
{
    for (size_t i = 0; i < finding->peer_count; i++)
        if ((i && buffer_append_byte(names, ',')) ||
            buffer_append_text(names, job->ranks[finding->peers[i]].name))
            return -1;
    return 0;
}
