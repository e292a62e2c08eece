/*
 * Errors that ranks report of themselves in NCCL's log or PyTorch's (find_reported_errors). The table
 * `reported` gives for each kind of warning what it proves. Runs after everything else that finds why a job
 * stopped.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* What a warning proves about its rank. Ranks with the greatest weight in the job are blamed. */
enum weight {
    WEIGHS_NOTHING = 0, /* not used by this file, or printed by healthy jobs, too */
    WEIGHS_EFFECT,      /* another rank failed */
    WEIGHS_SETTING,     /* a setting of this rank differs, or it lacks something; that need not end a job */
    /* The port of its card failed and did not come back; that need not end a job either */
    WEIGHS_CARD,
    WEIGHS_ERROR /* this rank failed */
};

/* By kind of warning. A kind without a row has no weight and is no failure. */
static const struct reported {
    enum weight weight;
    int is_failure;   /* it is a failure in a log; what RAS reports of ranks is handled elsewhere */
    const char *what; /* "rank 3 reported ..." */
} reported[WARNING_KINDS] = {
    [WARNING_CLOSED] = {WEIGHS_EFFECT, 1, NULL},
    [WARNING_ABORTED] = {WEIGHS_EFFECT, 1, NULL},
    [WARNING_NO_CARD] = {WEIGHS_SETTING, 1, "that a network card cannot be opened"},
    [WARNING_MISMATCH] = {WEIGHS_SETTING, 1, "that network cards or plugins differ between ranks"},
    [WARNING_NETWORK] = {WEIGHS_SETTING, 0, "that it uses a different network than most ranks"},
    [WARNING_CARD] = {WEIGHS_CARD, 1, "that the port of a network card failed"},
    [WARNING_INTERNAL] = {WEIGHS_ERROR, 1, "an internal NCCL error"},
    [WARNING_CUDA] = {WEIGHS_ERROR, 1, "a CUDA error"},
    [WARNING_MEMORY] = {WEIGHS_ERROR, 1, "that it is out of memory"},
    [WARNING_STUCK] = {WEIGHS_ERROR, 1, "that its watchdog is stuck in a CUDA or NCCL call"},
    [WARNING_RAISED] = {WEIGHS_ERROR, 1, "an exception in its program"},
    [WARNING_FAILED] = {WEIGHS_ERROR, 1, "an NCCL error"},
    [WARNING_CARD_FATAL] = {WEIGHS_ERROR, 1, "a fatal error of its network card"},
    [WARNING_SYSTEM] = {WEIGHS_ERROR, 1, "that a system call failed"},
    [WARNING_USAGE] = {WEIGHS_ERROR, 1, "invalid use of NCCL"},
    /* Other files use these. */
    [WARNING_COMPLETION] = {WEIGHS_NOTHING, 1, NULL},
    [WARNING_REQUEST] = {WEIGHS_NOTHING, 1, NULL},
    [WARNING_NEVER_JOINED] = {WEIGHS_NOTHING, 1, NULL},
    [WARNING_UNFINISHED] = {WEIGHS_NOTHING, 1, NULL},
    [WARNING_NO_DUMP] = {WEIGHS_NOTHING, 1, NULL},
    [WARNING_ENDED] = {WEIGHS_NOTHING, 1, NULL},
    [WARNING_GOT_OVER] = {WEIGHS_NOTHING, 1, NULL},
};

/* A network card: how often a rank's log reports that its port failed, less how often that it came back. */
struct card {
    int32_t rank;
    const char *nic; /* borrowed */
    int64_t failures;
};

/* The ranks that report the warnings with the greatest weight. */
struct reports {
    const struct job *job;
    struct card *cards; /* owned; sorted by rank and name, each once */
    size_t card_count;
    const char *usual_network; /* NULL: none */
    enum weight weight;
    const struct job_warning **of_rank; /* owned, by rank: its first warning of that weight; NULL: none */
    size_t count;                       /* ranks with such a warning */
    size_t named;                       /* of those, the ranks that only another rank reports */
    int64_t effects;                    /* ranks that report only effects */
    int64_t later;                      /* ranks that reported one later than another rank on the same host */
};

static const struct reported *reported_of(enum warning_kind kind)
{
    static const struct reported nothing = {WEIGHS_NOTHING, 0, NULL};
    unsigned number = kind;
    return number < WARNING_KINDS ? &reported[number] : &nothing;
}

static enum weight weight_of(const struct job_warning *warning)
{
    return reported_of(warning->kind)->weight;
}

/*
 * Whether the job went on after a warning and so was not ended by it. A setting that a rank lacks shows in
 * its first calls; in a log without calls, the warning counts as before them.
 */
static int has_gone_on(const struct job *job, const struct job_warning *warning)
{
    int is_setting = weight_of(warning) == WEIGHS_SETTING;
    if (warning->calls == COUNT_UNKNOWN && !is_setting)
        return 0;
    int64_t calls = warning->calls == COUNT_UNKNOWN ? 0 : warning->calls;
    return (double)job->ranks[warning->rank].count - (double)calls >
           limit_of(is_setting ? LIMIT_FIRST_CALLS : LIMIT_CALLS_AHEAD);
}

static int compare_cards(const void *left, const void *right)
{
    const struct card *a = left, *b = right;
    return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank) : strcmp(a->nic, b->nic);
}

/*
 * The failures of a port that a warning reports, negative where the port came back. 0 for a card without a
 * name, of which it cannot be determined whether it came back.
 */
static int64_t failures_said(const struct job_warning *warning)
{
    int is_of_port = warning->kind == WARNING_CARD || warning->kind == WARNING_CARD_BACK;
    if (!warning->nic || !is_of_port)
        return 0;
    return warning->kind == WARNING_CARD ? warning->count : -warning->count;
}

static int collect_cards(struct reports *reports)
{
    const struct job *job = reports->job;
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < job->warning_count; i++)
        count += failures_said(&job->warnings[i]) != 0;
    if (!count)
        return 0;
    struct card *cards = reports->cards = array_new(count, sizeof *cards);
    if (!cards)
        return -1;
    for (size_t i = 0, next = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        if (failures_said(warning))
            cards[next++] = (struct card){warning->rank, warning->nic, failures_said(warning)};
    }
    qsort(cards, count, sizeof *cards, compare_cards);
    for (size_t i = 1; i < count; i++)
        if (compare_cards(&cards[kept], &cards[i]) == 0)
            cards[kept].failures += cards[i].failures;
        else
            cards[++kept] = cards[i];
    reports->card_count = kept + 1;
    return 0;
}

/* Whether all its ports that failed came back. */
static int is_back(const struct reports *reports, const struct job_warning *warning)
{
    const struct card key = {.rank = warning->rank, .nic = warning->nic};
    const struct card *card =
        key.nic && reports->card_count
            ? bsearch(&key, reports->cards, reports->card_count, sizeof key, compare_cards)
            : NULL;
    return !card || card->failures <= 0;
}

/* The network that more than half of the ranks with a known network use; NULL: none. */
static const char *usual_network(const struct job *job)
{
    const char *usual = NULL;
    int64_t ahead = 0, all = 0, same = 0;
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        if (warning->kind != WARNING_NETWORK || !warning->text)
            continue;
        usual = ahead ? usual : warning->text;
        ahead += is_same_text(usual, warning->text) ? 1 : -1;
        all++;
    }
    for (size_t i = 0; usual && i < job->warning_count; i++)
        same += job->warnings[i].kind == WARNING_NETWORK && is_same_text(usual, job->warnings[i].text);
    return same * 2 > all ? usual : NULL;
}

/* Warnings that all ranks have alike, and those that are over, have no weight. */
static enum weight weight_in(const struct reports *reports, const struct job_warning *warning)
{
    const struct job *job = reports->job;
    if (has_gone_on(job, warning) ||
        (warning->kind == WARNING_NETWORK &&
         (!reports->usual_network || is_same_text(reports->usual_network, warning->text))) ||
        (warning->kind == WARNING_CARD && is_back(reports, warning)))
        return WEIGHS_NOTHING;
    return weight_of(warning);
}

static enum weight greatest_weight(const struct reports *reports)
{
    const struct job *job = reports->job;
    enum weight greatest = WEIGHS_NOTHING;
    for (size_t i = 0; i < job->warning_count; i++) {
        enum weight weight = weight_in(reports, &job->warnings[i]);
        greatest = weight > greatest ? weight : greatest;
    }
    return greatest;
}

/* The other rank that is as much at fault as the one that reports a difference between two; -1: none. */
static int32_t other_of(const struct job *job, const struct job_warning *warning)
{
    return warning->kind == WARNING_USAGE && warning->status != COUNT_UNKNOWN
               ? job_rank_numbered(job, warning->status)
               : -1;
}

static void collect_others(struct reports *reports)
{
    const struct job *job = reports->job;
    for (int32_t i = 0; i < (int32_t)job->rank_count; i++) {
        const struct job_warning *warning = reports->of_rank[i];
        int32_t other = warning && warning->rank == i ? other_of(job, warning) : -1;
        if (other < 0 || reports->of_rank[other])
            continue;
        reports->of_rank[other] = warning;
        reports->count++;
        reports->named++;
    }
}

static void collect(struct reports *reports)
{
    const struct job *job = reports->job;
    int32_t last_effect = -1;
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        if (!reports->of_rank[warning->rank] && weight_in(reports, warning) == reports->weight) {
            reports->of_rank[warning->rank] = warning;
            reports->count++;
        }
    }
    collect_others(reports);
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        if (weight_of(warning) != WEIGHS_EFFECT || reports->of_rank[warning->rank] ||
            warning->rank == last_effect)
            continue;
        last_effect = warning->rank;
        reports->effects++;
    }
}

/* The earliest of them, if all have times of the same host's clock; TIME_UNKNOWN otherwise. */
static int64_t earliest_ns(const struct reports *reports)
{
    const struct job *job = reports->job;
    const char *host = NULL;
    int64_t first_ns = TIME_UNKNOWN;
    for (size_t i = 0; i < job->rank_count; i++) {
        const struct job_warning *warning = reports->of_rank[i];
        const char *here = job->ranks[i].facts.host;
        if (!warning)
            continue;
        if (warning->first_ns == TIME_UNKNOWN || !here || (host && strcmp(host, here) != 0))
            return TIME_UNKNOWN;
        host = here;
        first_ns = first_ns == TIME_UNKNOWN || warning->first_ns < first_ns ? warning->first_ns : first_ns;
    }
    return first_ns;
}

/* A warning later than the first one on the same host may be an effect of it. */
static void forget_later(struct reports *reports)
{
    int64_t first_ns = earliest_ns(reports);
    for (size_t i = 0; first_ns != TIME_UNKNOWN && i < reports->job->rank_count; i++) {
        const struct job_warning *warning = reports->of_rank[i];
        if (!warning || (double)(warning->first_ns - first_ns) < limit_of(LIMIT_ERRORS_APART) * 1e9)
            continue;
        int is_named = warning->rank != (int32_t)i;
        reports->of_rank[i] = NULL;
        reports->count--;
        reports->named -= is_named;
        reports->later += !is_named;
    }
}

static const struct job_warning *first_of(const struct reports *reports)
{
    for (size_t i = 0; i < reports->job->rank_count; i++)
        if (reports->of_rank[i])
            return reports->of_rank[i];
    return NULL;
}

/* Appends: Rank 3 logged "Cuda failure 'an illegal memory access was encountered'", 2 times. */
static int append_report(const struct reports *reports, const struct job_warning *warning,
                         struct buffer *text)
{
    const struct job *job = reports->job;
    const char *before = text->length ? ". Rank " : "Rank ";
    return buffer_append_text(text, before) ||
           buffer_printf(text, "%s logged \"%s\"", job->ranks[warning->rank].name,
                         warning->text ? warning->text : reported[warning->kind].what) ||
           (warning->kind == WARNING_NETWORK &&
            buffer_printf(text, "; most ranks logged \"%s\"", reports->usual_network)) ||
           (warning->kind != WARNING_NETWORK && warning->count > 1 &&
            buffer_printf(text, " and %lld similar ones", (long long)warning->count - 1));
}

/* The reports of at most this many ranks are quoted; more are counted. */
enum { REPORTS_SAID = 2 };

static int append_reports(const struct reports *reports, struct buffer *text)
{
    size_t said = 0;
    for (size_t i = 0; i < reports->job->rank_count && said < REPORTS_SAID; i++) {
        const struct job_warning *warning = reports->of_rank[i];
        if (!warning || warning->rank != (int32_t)i)
            continue;
        said++;
        if (append_report(reports, warning, text))
            return -1;
    }
    size_t more = reports->count - reports->named - said;
    return more ? buffer_printf(text, ". %zu more rank%s logged similar errors", more, more == 1 ? "" : "s")
                : 0;
}

static int append_effects(const struct reports *reports, struct finding *finding)
{
    figures_add(&finding->figures, "ranks_reporting", (double)(reports->count - reports->named));
    figures_add(&finding->figures, "ranks_affected", (double)reports->effects);
    if (reports->later &&
        buffer_printf(&finding->evidence, ". %lld other rank%s on its host reported such errors later",
                      (long long)reports->later, reports->later == 1 ? "" : "s"))
        return -1;
    if (!reports->effects)
        return 0;
    return buffer_printf(&finding->evidence,
                         ". %lld other rank%s report%s only that they lost a peer or were aborted, which is "
                         "an effect, not a cause",
                         (long long)reports->effects, reports->effects == 1 ? "" : "s",
                         reports->effects == 1 ? "s" : "");
}

/* Whether a finding blames all ranks with a report, or has them as candidates. */
static int are_accused(const struct reports *reports, const struct finding *finding)
{
    size_t count = !finding->candidate_count && finding->rank >= 0 && reports->of_rank[finding->rank];
    for (size_t i = 0; i < finding->candidate_count; i++)
        count += reports->of_rank[finding->candidates[i]] != NULL;
    return count == reports->count;
}

/* The finding that already blames these ranks, and no others, for stopping the job; NULL: none. */
static struct finding *stopped_by(const struct reports *reports, const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        size_t count = finding->candidate_count ? finding->candidate_count : 1;
        if (finding->stops_job && finding->kind >= FINDING_MISSING && !finding->rank_count &&
            count == reports->count && are_accused(reports, finding))
            return finding;
    }
    return NULL;
}

/*
 * Removes candidates that may be missing or may have ended, once some of them report an error of their own.
 */
static void forget_candidates(const struct reports *reports, struct findings *findings)
{
    for (size_t i = findings->count; i-- > 0;) {
        const struct finding *finding = &findings->items[i];
        if (finding->stops_job && finding->candidate_count && are_accused(reports, finding))
            findings_remove(findings, i);
    }
}

static int take_candidates(const struct reports *reports, struct finding *finding)
{
    for (size_t i = 0; i < reports->job->rank_count; i++)
        if (reports->of_rank[i] && finding_add_candidate(finding, (int32_t)i))
            return -1;
    return 0;
}

static int name_reporting(const struct reports *reports, struct findings *findings)
{
    const struct job_warning *first = first_of(reports);
    struct finding *finding = findings_add(findings);
    if (!finding)
        return -1;
    finding->kind = FINDING_ERROR;
    finding->rank = first->rank;
    finding->error = reported[first->kind].what;
    finding->warning = first->id;
    finding->confidence = CONFIDENCE_HIGH;
    finding->stops_job = reports->weight == WEIGHS_ERROR;
    finding_ask(findings, finding, RULE_SEVERAL, (double)reports->count);
    finding_ask(findings, finding, RULE_NO_ECHO, (double)(reports->effects + reports->later));
    finding_ask(findings, finding, RULE_MERE_SETTING, reports->weight < WEIGHS_ERROR);
    return (reports->count > 1 && take_candidates(reports, finding)) ||
           append_report(reports, first, &finding->evidence) || append_effects(reports, finding);
}

static int judge(const struct reports *reports, struct findings *findings)
{
    const struct job_warning *first = first_of(reports);
    struct finding *stopped = stopped_by(reports, findings);
    if (stopped) {
        stopped->warning = stopped->warning ? stopped->warning : first->id;
        return append_reports(reports, &stopped->evidence);
    }
    /* A warning that need not end a job does not count beside a finding that explains why it ended. */
    if (reports->weight < WEIGHS_ERROR && findings_explain_stop_confidently(findings))
        return 0;
    if (reports->weight == WEIGHS_ERROR)
        forget_candidates(reports, findings);
    return name_reporting(reports, findings);
}

/* Failed transfers are reported together with the card at their end (broken_transfers.c). */
static int have_broken(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].broke)
            return 1;
    return 0;
}

/* Whether all warnings with the greatest weight are failures of cards. */
static int is_of_card(const struct reports *reports)
{
    const struct job *job = reports->job;
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        if (warning->kind != WARNING_CARD && warning->kind != WARNING_CARD_FATAL &&
            weight_in(reports, warning) == reports->weight)
            return 0;
    }
    return 1;
}

static int judge_all(struct reports *reports, struct findings *findings)
{
    reports->weight = greatest_weight(reports);
    if (reports->weight <= WEIGHS_EFFECT || (is_of_card(reports) && have_broken(findings)))
        return 0;
    reports->of_rank = array_new(reports->job->rank_count, sizeof *reports->of_rank);
    if (!reports->of_rank)
        return -1;
    collect(reports);
    forget_later(reports);
    return judge(reports, findings);
}

int find_reported_errors(const struct job *job, struct findings *findings)
{
    struct reports reports = {.job = job, .usual_network = usual_network(job)};
    int failed = collect_cards(&reports) || judge_all(&reports, findings);
    free(reports.cards);
    free(reports.of_rank);
    return failed ? -1 : 0;
}

const char *reported_what(enum warning_kind kind)
{
    return reported_of(kind)->what;
}

int reported_is_failure(enum warning_kind kind)
{
    return reported_of(kind)->is_failure;
}

int reported_is_own(enum warning_kind kind)
{
    return reported_of(kind)->weight == WEIGHS_ERROR;
}

int reported_is_effect(enum warning_kind kind)
{
    return reported_of(kind)->weight == WEIGHS_EFFECT;
}
