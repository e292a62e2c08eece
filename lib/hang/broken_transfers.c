/*
 * Network transfers that failed for good and ended the job: finds the card, link or host that all of them
 * have in common, and reports it as a network finding. Input are the warnings of the job.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/*
 * IBV_WC_WR_FLUSH_ERR, IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR (rdma-core, libibverbs/verbs.h);
 * FI_ECANCELED (libfabric).
 */
enum { FLUSHED = 5, RETRIES_EXCEEDED = 12, RECEIVER_NOT_READY = 13, CANCELLED = 125 };

/* What a failed transfer proves about the cause. */
enum weight {
    WEIGHS_NOTHING = 0, /* it was cancelled because another one failed */
    WEIGHS_FAILED,      /* it failed, at either end */
    WEIGHS_NO_ANSWER    /* the other end, or the network between, does not answer */
};

/*
 * At most this many different failed transfers are compared; more than that means that the whole network
 * failed.
 */
enum { FAILED_MOST = 256 };

struct breaks {
    const struct job *job;
    enum weight weight;
    const struct job_warning *failed[FAILED_MOST]; /* borrowed: transfers with the greatest weight */
    const char *peer_hosts[FAILED_MOST];           /* the host at the other end of each; NULL: not known */
    size_t count;
    int are_more;              /* there are more than FAILED_MOST */
    unsigned char *accused;    /* by rank */
    unsigned char *has_warned; /* by rank: it has any warning */
};

static const char *host_of(const struct job *job, int32_t rank)
{
    return job->ranks[rank].facts.host;
}

int job_went_on_after(const struct job *job, const struct job_warning *warning)
{
    return warning->calls != COUNT_UNKNOWN &&
           (double)job->ranks[warning->rank].count - (double)warning->calls > limit_of(LIMIT_CALLS_AHEAD);
}

/*
 * The host at the other end of a warning's transfer, if the address or name belongs to ranks of one host
 * only; NULL: not known.
 */
static const char *host_of_peer(const struct job *job, const struct job_warning *warning)
{
    const char *host = NULL;
    for (size_t i = 0; warning->peer && i < job->rank_count; i++) {
        const char *here = host_of(job, (int32_t)i);
        if (!here ||
            (!is_same_text(job->ranks[i].address, warning->peer) && !is_same_text(here, warning->peer)))
            continue;
        if (host && strcmp(host, here) != 0)
            return NULL;
        host = here;
    }
    return host;
}

static enum weight weight_of(const struct job_warning *warning)
{
    if (warning->kind == WARNING_REQUEST)
        return warning->status == CANCELLED ? WEIGHS_NOTHING : WEIGHS_NO_ANSWER;
    if (warning->kind != WARNING_COMPLETION || warning->status == FLUSHED)
        return WEIGHS_NOTHING;
    return warning->status == RETRIES_EXCEEDED || warning->status == RECEIVER_NOT_READY ? WEIGHS_NO_ANSWER
                                                                                        : WEIGHS_FAILED;
}

static void weigh(struct breaks *breaks)
{
    const struct job *job = breaks->job;
    for (size_t i = 0; i < job->warning_count; i++) {
        enum weight weight = weight_of(&job->warnings[i]);
        if (weight > breaks->weight && !job_went_on_after(job, &job->warnings[i]))
            breaks->weight = weight;
    }
}

static void collect(struct breaks *breaks)
{
    const struct job *job = breaks->job;
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        breaks->has_warned[warning->rank] |= warning->kind != WARNING_NETWORK;
        if (weight_of(warning) == WEIGHS_NOTHING || weight_of(warning) != breaks->weight ||
            job_went_on_after(job, warning))
            continue;
        breaks->are_more |= breaks->count == FAILED_MOST;
        if (breaks->are_more)
            continue;
        breaks->peer_hosts[breaks->count] = host_of_peer(job, warning);
        breaks->failed[breaks->count++] = warning;
    }
}

/* Whether two warnings are about the same card: the same host, and the same name where both give one. */
static int are_of_one_card(const struct job *job, const struct job_warning *a, const struct job_warning *b)
{
    if (a->rank == b->rank)
        return !a->nic || !b->nic || is_same_text(a->nic, b->nic);
    return is_same_text(host_of(job, a->rank), host_of(job, b->rank)) && is_same_text(a->nic, b->nic);
}

static int are_all_of_one_card(const struct breaks *breaks)
{
    if (breaks->are_more)
        return 0;
    for (size_t i = 1; i < breaks->count; i++)
        if (!are_of_one_card(breaks->job, breaks->failed[0], breaks->failed[i]))
            return 0;
    return 1;
}

/* The host at the other end of all of them; NULL: there is none. */
static const char *common_peer(const struct breaks *breaks)
{
    const char *host = breaks->are_more ? NULL : breaks->peer_hosts[0];
    for (size_t i = 1; host && i < breaks->count; i++)
        if (!is_same_text(host, breaks->peer_hosts[i]))
            host = NULL;
    return host;
}

static void accuse_host(struct breaks *breaks, const char *host)
{
    for (size_t i = 0; i < breaks->job->rank_count; i++)
        breaks->accused[i] |= is_same_text(host_of(breaks->job, (int32_t)i), host);
}

static void accuse_senders(struct breaks *breaks)
{
    for (size_t i = 0; i < breaks->count; i++)
        breaks->accused[breaks->failed[i]->rank] = 1;
}

/* Whether a card that failed itself is at one end of a transfer. */
static int is_at_end(const struct breaks *breaks, const struct job_warning *card, size_t failed)
{
    return is_same_text(host_of(breaks->job, card->rank), breaks->peer_hosts[failed]) ||
           are_of_one_card(breaks->job, card, breaks->failed[failed]);
}

static int is_of_card(const struct job_warning *warning)
{
    return warning->kind == WARNING_CARD || warning->kind == WARNING_CARD_FATAL;
}

/* A card that reports a failure of its own port and is at an end of all of them; NULL: none. */
static const struct job_warning *failed_card(const struct breaks *breaks)
{
    const struct job *job = breaks->job;
    for (size_t i = 0; !breaks->are_more && i < job->warning_count; i++) {
        const struct job_warning *card = &job->warnings[i];
        size_t ends = 0;
        while (is_of_card(card) && ends < breaks->count && is_at_end(breaks, card, ends))
            ends++;
        if (ends == breaks->count)
            return card;
    }
    return NULL;
}

/*
 * Blames the ranks that use a card. All processes of a host may report its failure; those that use it are
 * those whose transfers over it failed in any way.
 */
static void accuse_card(struct breaks *breaks, const struct job_warning *card)
{
    const struct job *job = breaks->job;
    size_t users = 0;
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *other = &job->warnings[i];
        if (other->kind != WARNING_COMPLETION || !card->nic || !is_same_text(other->nic, card->nic) ||
            !is_same_text(host_of(job, other->rank), host_of(job, card->rank)))
            continue;
        breaks->accused[other->rank] = 1;
        users++;
    }
    for (size_t i = 0; !users && i < job->warning_count; i++)
        breaks->accused[job->warnings[i].rank] |=
            is_of_card(&job->warnings[i]) && are_of_one_card(job, card, &job->warnings[i]);
}

/* Whether a rank at the other end has no warnings at all, as a rank that died. */
static int is_silent_peer(const struct breaks *breaks, const char *host, int32_t rank)
{
    return !breaks->has_warned[rank] && (!host || is_same_text(host_of(breaks->job, rank), host));
}

static int64_t count_silent(const struct breaks *breaks)
{
    const char *host = common_peer(breaks);
    int64_t count = 0;
    for (size_t i = 0; i < breaks->job->rank_count; i++)
        count += is_silent_peer(breaks, host, (int32_t)i);
    return count;
}

/*
 * Whether all of them are on one link, between the same two hosts in either direction; returns these in
 * `link`.
 */
static int find_link(const struct breaks *breaks, const char *link[2])
{
    const char *from = host_of(breaks->job, breaks->failed[0]->rank), *to = breaks->peer_hosts[0];
    if (breaks->are_more || !from || !to || is_same_text(from, to))
        return 0;
    for (size_t i = 1; i < breaks->count; i++) {
        const char *host = host_of(breaks->job, breaks->failed[i]->rank), *peer = breaks->peer_hosts[i];
        if (!(is_same_text(host, from) && is_same_text(peer, to)) &&
            !(is_same_text(host, to) && is_same_text(peer, from)))
            return 0;
    }
    link[0] = from;
    link[1] = to;
    return 1;
}

/* The number of ends, where they have nothing in common: one of them may be at fault, or several. */
static int64_t count_ends(const struct breaks *breaks)
{
    int64_t ends = breaks->are_more;
    for (size_t i = 0; i < breaks->count; i++) {
        size_t same = 0;
        while (same < i && !are_of_one_card(breaks->job, breaks->failed[i], breaks->failed[same]))
            same++;
        ends += same == i;
    }
    return ends;
}

/* Appends "2026-03-02T10:15:30 (log time)"; log times have no time zone. */
static int append_when(const struct breaks *breaks, struct buffer *text)
{
    int64_t first_ns = TIME_UNKNOWN;
    struct buffer time = BUFFER_INIT;
    for (size_t i = 0; i < breaks->count; i++) {
        int64_t at_ns = breaks->failed[i]->first_ns;
        if (at_ns != TIME_UNKNOWN && (first_ns == TIME_UNKNOWN || at_ns < first_ns))
            first_ns = at_ns;
    }
    int failed = first_ns != TIME_UNKNOWN && text_utc(&time, first_ns);
    /* Removes the fraction and the time zone, which the log does not have. */
    if (!failed && time.length)
        failed = buffer_printf(text, ", first at %.*s (log time)", (int)strcspn(time.data, "."), time.data);
    buffer_release(&time);
    return failed;
}

/* Appends what became of them, according to the first. */
static int append_status(const struct job *job, const struct job_warning *first, struct buffer *text)
{
    long long status = (long long)first->status;
    if (first->kind == WARNING_REQUEST)
        return buffer_printf(
            text, " failed in the network plugin, which does not name the peer. Rank %s logged \"%s\"",
            job->ranks[first->rank].name, first->text ? first->text : "");
    if (status == RETRIES_EXCEEDED)
        return buffer_append_text(text, " got no answer after all retries (status 12)");
    if (status == RECEIVER_NOT_READY)
        return buffer_append_text(text,
                                  " found no receive buffer at the receiver after all retries (status 13)");
    return status == COUNT_UNKNOWN ? buffer_append_text(text, " failed")
                                   : buffer_printf(text, " failed with InfiniBand status %lld", status);
}

/* Appends "4 transfers of mlx5_3 on host node1 to 10.0.0.10 (host node0)". */
static int append_failed(const struct breaks *breaks, struct buffer *text)
{
    const struct job *job = breaks->job;
    const struct job_warning *first = breaks->failed[0];
    const char *host = host_of(job, first->rank), *peer_host = common_peer(breaks);
    int is_one = are_all_of_one_card(breaks);
    int64_t count = 0;
    for (size_t i = 0; i < breaks->count; i++)
        count += breaks->failed[i]->count;
    return buffer_printf(text, "%lld transfer%s", (long long)count, count == 1 ? "" : "s") ||
           (is_one && first->nic && buffer_printf(text, " of card %s", first->nic)) ||
           (is_one && host && buffer_printf(text, " on host %s", host)) ||
           (!is_one && buffer_printf(text, " of %lld cards", (long long)count_ends(breaks))) ||
           (is_one && first->peer && buffer_printf(text, " to %s", first->peer)) ||
           (peer_host && !is_same_text(peer_host, first->peer) &&
            buffer_printf(text, is_one && first->peer ? " (host %s)" : " to host %s", peer_host)) ||
           append_status(job, first, text);
}

static int64_t count_warned(const struct job *job, enum warning_kind kind, int64_t status)
{
    int64_t count = 0;
    int32_t last = -1;
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        if (warning->kind != kind || warning->status != status || warning->rank == last)
            continue;
        last = warning->rank;
        count++;
    }
    return count;
}

static int append_others(const struct breaks *breaks, struct finding *finding)
{
    int64_t flushed = count_warned(breaks->job, WARNING_COMPLETION, FLUSHED);
    int64_t closed = count_warned(breaks->job, WARNING_CLOSED, COUNT_UNKNOWN);
    struct buffer *text = &finding->evidence;
    figures_add(&finding->figures, "ranks_flushed", (double)flushed);
    figures_add(&finding->figures, "ranks_closed", (double)closed);
    if (!flushed && !closed)
        return 0;
    return buffer_append_text(text, ". Other warnings are effects of this: ") ||
           (flushed && buffer_printf(text, "%lld rank%s gave up transfers (status 5)", (long long)flushed,
                                     flushed == 1 ? "" : "s")) ||
           (flushed && closed && buffer_append_text(text, ", ")) ||
           (closed && buffer_printf(text, "%lld rank%s lost connections that peers closed", (long long)closed,
                                    closed == 1 ? "" : "s"));
}

static int append_card(const struct breaks *breaks, const struct job_warning *card, struct buffer *text)
{
    const char *host = host_of(breaks->job, card->rank);
    return buffer_printf(text, ". Card %s%s%s reported a fault of the card or its port",
                         card->nic ? card->nic : "", host ? " on host " : "", host ? host : "");
}

static int take_accused(const struct breaks *breaks, struct finding *finding)
{
    size_t count = 0;
    for (size_t i = 0; i < breaks->job->rank_count; i++)
        count += breaks->accused[i];
    finding->rank = -1;
    if (count > 1 && !(finding->ranks = array_new(count, sizeof *finding->ranks)))
        return -1;
    for (size_t i = 0; i < breaks->job->rank_count; i++) {
        if (!breaks->accused[i])
            continue;
        finding->rank = finding->rank < 0 ? (int32_t)i : finding->rank;
        if (count > 1)
            finding->ranks[finding->rank_count++] = (int32_t)i;
    }
    return 0;
}

/* Makes all ends candidates where they have nothing in common. */
static int take_candidates(struct finding *finding)
{
    for (size_t i = 0; i < finding->rank_count; i++)
        if (finding_add_candidate(finding, finding->ranks[i]))
            return -1;
    finding->rank_count = 0;
    return 0;
}

/* Makes both ends of a link candidates: the senders, and the ranks at the other end without warnings. */
static int take_ends(const struct breaks *breaks, const char *peer, struct finding *finding)
{
    for (size_t i = 0; i < breaks->count; i++)
        if (finding_add_candidate(finding, breaks->failed[i]->rank))
            return -1;
    for (size_t i = 0; i < breaks->job->rank_count; i++)
        if (is_silent_peer(breaks, peer, (int32_t)i) && finding_add_candidate(finding, (int32_t)i))
            return -1;
    finding->rank_count = 0;
    finding->peer_count = 0;
    return 0;
}

/* Adds the ranks at the other end as peers, if that is a single host. */
static int add_peers(const struct breaks *breaks, int is_peer, const char *peer, struct finding *finding)
{
    const struct job *job = breaks->job;
    for (size_t i = 0; is_peer && i < breaks->count; i++)
        if (finding_add_peer(finding, breaks->failed[i]->rank))
            return -1;
    for (size_t i = 0; !is_peer && peer && i < job->rank_count; i++)
        if (is_same_text(host_of(job, (int32_t)i), peer) && !breaks->accused[i] &&
            finding_add_peer(finding, (int32_t)i))
            return -1;
    return 0;
}

static int name_broken(struct breaks *breaks, struct findings *findings)
{
    const struct job_warning *card = failed_card(breaks);
    const char *peer = common_peer(breaks);
    int is_one = are_all_of_one_card(breaks), is_peer = !card && !is_one && peer;
    int64_t ends = card || is_one || is_peer ? 1 : count_ends(breaks);
    struct finding *finding = findings_add(findings);
    if (!finding)
        return -1;
    if (card)
        accuse_card(breaks, card);
    else if (is_peer)
        accuse_host(breaks, peer);
    else
        accuse_senders(breaks);
    finding->kind = FINDING_NETWORK;
    finding->confidence = card ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
    finding->broke = 1;
    finding->stops_job = 1;
    finding->warning = card ? card->id : breaks->failed[0]->id;
    finding->nic = card ? card->nic : is_one ? breaks->failed[0]->nic : NULL;
    int is_link = !card && find_link(breaks, finding->link);
    int is_doubted = !card && finding_ask(findings, finding, RULE_NO_TRACE, (double)count_silent(breaks));
    finding_ask(findings, finding, RULE_SEVERAL, (double)ends);
    return take_accused(breaks, finding) || add_peers(breaks, is_peer, peer, finding) ||
           (ends > 1 && take_candidates(finding)) ||
           (is_link && peer && is_doubted && take_ends(breaks, peer, finding)) ||
           append_failed(breaks, &finding->evidence) || append_when(breaks, &finding->evidence) ||
           (card && append_card(breaks, card, &finding->evidence)) || append_others(breaks, finding);
}

static int has_failed(const struct breaks *breaks, const struct finding *finding)
{
    for (size_t i = 0; i < breaks->count; i++)
        if (finding_has_rank(finding, breaks->failed[i]->rank))
            return 1;
    return 0;
}

/*
 * Removes findings that are effects: a rank that made no progress since its transfers failed is missing
 * because of that; and a rank that is missing with low confidence and reports lost peers is one that lost
 * them.
 */
static void forget_effects(const struct breaks *breaks, struct findings *findings)
{
    for (size_t i = findings->count; i-- > 0;) {
        const struct finding *finding = &findings->items[i];
        int is_absent = finding->kind == FINDING_MISSING || finding->kind == FINDING_ENDED_EARLY;
        int is_doubtful = finding->confidence == CONFIDENCE_LOW && breaks->has_warned[finding->rank];
        if (is_absent && !finding->never_ended && (has_failed(breaks, finding) || is_doubtful))
            findings_remove(findings, i);
    }
}

/*
 * A rank that died or made no progress explains transfers without an answer, so they become evidence of its
 * finding.
 */
static int add_evidence(const struct breaks *breaks, struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        if (!finding->stops_job || finding->confidence == CONFIDENCE_LOW)
            continue;
        return buffer_append_text(&finding->evidence, ". Transfers also failed: ") ||
               append_failed(breaks, &finding->evidence);
    }
    return 0;
}

int find_broken_transfers(const struct job *job, struct findings *findings)
{
    struct breaks breaks = {
        .job = job, .accused = array_new(job->rank_count, 1), .has_warned = array_new(job->rank_count, 1)};
    int failed = !breaks.accused || !breaks.has_warned;
    if (!failed) {
        weigh(&breaks);
        collect(&breaks);
    }
    if (!failed && breaks.count) {
        forget_effects(&breaks, findings);
        failed = findings_explain_stop_confidently(findings) ? add_evidence(&breaks, findings)
                                                             : name_broken(&breaks, findings);
    }
    free(breaks.accused);
    free(breaks.has_warned);
    return failed ? -1 : 0;
}
