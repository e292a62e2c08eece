/*
 * Members of a communicator whose calls do not match: the size, datatype or root of a collective, or the
 * order of two (find_disagreements).
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/*
 * Mismatched calls: the size, datatype or root of a collective, or the order of two. NCCL does not check
 * these, so such a job hangs or computes wrong results. The members outside the majority are at fault.
 */

enum term { TERM_BYTES, TERM_DATATYPE, TERM_ROOT, TERM_COUNT };

enum { TERM_UNKNOWN = -1 };

static int64_t term_of(enum term term, const struct job_operation *operation)
{
    switch (term) {
    case TERM_BYTES:
        return operation->bytes < 0 ? TERM_UNKNOWN : operation->bytes;
    case TERM_DATATYPE:
        return datatype_name(operation->datatype) ? (int64_t)operation->datatype : TERM_UNKNOWN;
    default:
        return operation->root < 0 ? TERM_UNKNOWN : operation->root;
    }
}

static int append_term(enum term term, int64_t value, struct buffer *text)
{
    switch (term) {
    case TERM_BYTES:
        return buffer_printf(text, " with %lld bytes", (long long)value);
    case TERM_DATATYPE:
        return buffer_printf(text, " with %s", datatype_name((enum datatype)value));
    default:
        return buffer_printf(text, " with root %lld", (long long)value);
    }
}

/* The values that members called a collective with, and whether these are usual for them. */
struct vote {
    const struct job_instance *instance;
    enum term term;
    int64_t common; /* the most frequent value */
    int32_t votes;  /* members that called it with that value */
    int32_t known;  /* members whose value is known */
    int kept;       /* some member called its usual value; only determined for sizes without a majority */
    int broken;
};

static int64_t called_by(const struct vote *vote, const struct job *job, int32_t member)
{
    return term_of(vote->term, job_member(job, vote->instance, member));
}

static struct vote take_vote(const struct job *job, const struct job_instance *instance, enum term term)
{
    struct vote vote = {.instance = instance, .term = term, .common = TERM_UNKNOWN};
    int32_t votes = 0;
    for (int32_t i = 0; i < instance->members; i++) {
        int64_t here = called_by(&vote, job, i);
        if (here == TERM_UNKNOWN)
            continue;
        if (votes == 0)
            vote.common = here;
        votes += here == vote.common ? 1 : -1;
        vote.known++;
    }
    for (int32_t i = 0; i < instance->members; i++)
        vote.votes += vote.known && called_by(&vote, job, i) == vote.common;
    return vote;
}

static int has_majority(const struct vote *vote)
{
    return vote->votes * 2 > vote->known;
}

/*
 * The number of members with a value other than `mine`, and that value; the most frequent value if that
 * differs.
 */
static int32_t count_others(const struct job *job, const struct vote *vote, int64_t mine, int64_t *theirs)
{
    int32_t count = 0;
    *theirs = mine == vote->common ? TERM_UNKNOWN : vote->common;
    for (int32_t i = 0; i < vote->instance->members; i++) {
        int64_t here = called_by(vote, job, i);
        if (*theirs == TERM_UNKNOWN && here != mine)
            *theirs = here;
        count += here != TERM_UNKNOWN && here != mine && here == *theirs;
    }
    return count;
}

static struct finding *add_mismatch(const struct job *job, const struct job_operation *operation,
                                    const struct job_instance *instance, int confidence, int is_stuck,
                                    struct findings *findings)
{
    struct finding *finding = findings_add_at(findings, job, FINDING_MISMATCH, operation->rank, instance);
    if (finding) {
        finding->stops_job = is_stuck;
        finding->confidence = is_stuck ? (enum confidence)confidence : CONFIDENCE_LOW;
    }
    /* Which of them is at fault cannot be determined. */
    return finding && confidence == CONFIDENCE_LOW && finding_add_candidate(finding, operation->rank)
               ? NULL
               : finding;
}

int append_habit(struct buffer *text)
{
    return buffer_append_text(text, ". The other ranks repeated their earlier steps; this rank did not");
}

/* Medium confidence means that the comparison with usual calls decided. */
static int append_reason(int confidence, struct buffer *text)
{
    return confidence == CONFIDENCE_MEDIUM ? append_habit(text) : 0;
}

/* Adds what it called with, and what the others did, where that is a number. */
static void note_term(enum term term, int64_t mine, int64_t theirs, int32_t others, struct figures *figures)
{
    static const char *const names[][2] = {[TERM_BYTES] = {"own_bytes", "others_bytes"},
                                           [TERM_DATATYPE] = {NULL, NULL},
                                           [TERM_ROOT] = {"own_root", "others_root"}};
    figures_add(figures, "other_ranks", others);
    if (!names[term][0])
        return;
    figures_add(figures, names[term][0], (double)mine);
    figures_add(figures, names[term][1], (double)theirs);
}

static int add_term(const struct job *job, const struct vote *vote, int32_t at, int confidence, int is_stuck,
                    struct findings *findings)
{
    const struct job_operation *operation = &job->operations[at];
    struct finding *finding = add_mismatch(job, operation, vote->instance, confidence, is_stuck, findings);
    int64_t mine = term_of(vote->term, operation), theirs;
    int32_t others = count_others(job, vote, mine, &theirs);
    if (finding)
        note_term(vote->term, mine, theirs, others, &finding->figures);
    if (!finding || buffer_printf(&finding->evidence, "Rank %s called ", job->ranks[operation->rank].name) ||
        text_operation(&finding->evidence, job, vote->instance, vote->instance->function) ||
        append_term(vote->term, mine, &finding->evidence) ||
        buffer_printf(&finding->evidence, "; %d other rank%s called it", others, others == 1 ? "" : "s") ||
        append_term(vote->term, theirs, &finding->evidence))
        return -1;
    return append_reason(confidence, &finding->evidence);
}

static void find_habits(const struct job *job, const int32_t *positions, struct vote *vote)
{
    for (int32_t i = 0; vote->term == TERM_BYTES && !has_majority(vote) && i < vote->instance->members; i++) {
        enum call_pattern call_pattern =
            call_pattern_at(job, positions, job_member_at(job, vote->instance, i));
        vote->kept |= call_pattern == CALL_PATTERN_KEPT;
        vote->broken |= call_pattern == CALL_PATTERN_BROKEN;
    }
}

/*
 * The confidence that a member is at fault. The majority is right; of two halves, the side that called its
 * usual size while the other side did not. -1: not this member, or nothing is known of it. Low for all where
 * that does not decide.
 */
static int confidence_in(const struct job *job, const int32_t *positions, const struct vote *vote, int32_t at)
{
    int64_t mine = term_of(vote->term, &job->operations[at]);
    if (mine == TERM_UNKNOWN)
        return -1;
    if (has_majority(vote))
        return mine == vote->common ? -1 : CONFIDENCE_HIGH;
    if (!vote->kept || !vote->broken)
        return CONFIDENCE_LOW;
    enum call_pattern call_pattern = call_pattern_at(job, positions, at);
    return call_pattern == CALL_PATTERN_BROKEN ? CONFIDENCE_MEDIUM
           : call_pattern == CALL_PATTERN_KEPT ? -1
                                               : CONFIDENCE_LOW;
}

static int name_dissenters(const struct job *job, const int32_t *positions, const struct vote *vote,
                           int is_stuck, struct findings *findings)
{
    for (int32_t i = 0; i < vote->instance->members; i++) {
        int32_t at = job_member_at(job, vote->instance, i);
        int confidence = confidence_in(job, positions, vote, at);
        if (confidence >= 0 && add_term(job, vote, at, confidence, is_stuck, findings))
            return -1;
    }
    return 0;
}

static int are_alike(const struct job *job, const struct job_instance *instance)
{
    for (int32_t i = 1; i < instance->members; i++) {
        const struct job_operation *a = job_member(job, instance, 0), *b = job_member(job, instance, i);
        if (a->bytes != b->bytes || a->datatype != b->datatype || a->root != b->root)
            return 0;
    }
    return 1;
}

/*
 * The first term in which members differ, if any. A different size says more than the datatype that caused
 * it.
 */
static int differ(const struct job *job, const struct job_instance *instance, struct vote *vote)
{
    if (are_alike(job, instance))
        return 0;
    for (enum term term = 0; term < TERM_COUNT; term++) {
        *vote = take_vote(job, instance, term);
        if (vote->votes < vote->known)
            return 1;
    }
    return 0;
}

/* `seen`, by communicator: a finding has been added. */
static int find_terms(const struct job *job, const int32_t *positions, const unsigned char *stuck,
                      int want_stuck, unsigned char *seen, struct findings *findings)
{
    for (size_t i = 0; i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        struct vote vote;
        if (stuck[i] != want_stuck || instance->function == FUNCTION_SEND || seen[instance->communicator] ||
            !job->communicators[instance->communicator].hash || !differ(job, instance, &vote))
            continue;
        find_habits(job, positions, &vote);
        seen[instance->communicator] = 1;
        if (name_dissenters(job, positions, &vote, want_stuck, findings))
            return -1;
    }
    return 0;
}

/* Two collectives of a communicator that some members called in one order and others in the other. */
struct turn {
    const struct job_instance *first, *second; /* in the order of the first member found */
    int32_t like_that, otherwise;              /* numbers of members of both, by order */
};

/* A member's operation of an instance. *place is where the last search in the member list ended. */
static int32_t find_member(const struct job *job, const struct job_instance *instance, int32_t rank,
                           int32_t *place)
{
    while (*place < instance->members && job_member(job, instance, *place)->rank < rank)
        ++*place;
    return *place < instance->members && job_member(job, instance, *place)->rank == rank
               ? job_member_at(job, instance, *place)
               : -1;
}

/* The next operation (`by` 1) or the previous one (-1) of the same sequence on its rank; -1: none. */
static int32_t neighbour(const struct job *job, int32_t at, int by)
{
    const struct job_operation *operation = &job->operations[at];
    const struct job_rank *rank = &job->ranks[operation->rank];
    size_t next = (size_t)at + (size_t)by;
    while (next - rank->first < rank->count &&
           (job->operations[next].communicator != operation->communicator ||
            job->operations[next].function != operation->function))
        next += (size_t)by;
    return next - rank->first < rank->count ? (int32_t)next : -1;
}

static int64_t sequence_at(const struct job *job, int32_t at)
{
    return job->instances[job->operations[at].instance].sequence;
}

/*
 * Whether the position of an operation in time agrees with its number. If the clock of the record was wrong,
 * it does not.
 */
static int is_in_its_place(const struct job *job, int32_t at)
{
    int32_t before = neighbour(job, at, -1), after = neighbour(job, at, 1);
    return (before < 0 || sequence_at(job, before) < sequence_at(job, at)) &&
           (after < 0 || sequence_at(job, after) > sequence_at(job, at));
}

/*
 * Whether a rank called one collective before the other. Records of finished operations are not in the order
 * of calls: there, one has to end before the other starts, and both must agree with their numbers.
 */
static int is_before(const struct job *job, int32_t one, int32_t other)
{
    int64_t end_ns = job->operations[one].end_ns, start_ns = job->operations[other].start_ns;
    return one < other && (!job->finished_only ||
                           (end_ns != TIME_UNKNOWN && start_ns != TIME_UNKNOWN && end_ns <= start_ns &&
                            is_in_its_place(job, one) && is_in_its_place(job, other)));
}

/*
 * 1: the member called them in that order; -1: in the other order; 0: it did not call both, or that is not
 * known.
 */
static int order_of(const struct job *job, const struct turn *turn, int32_t member, int32_t *place)
{
    int32_t first = job_member_at(job, turn->first, member);
    int32_t second = find_member(job, turn->second, job->operations[first].rank, place);
    return second < 0 ? 0 : is_before(job, first, second) - is_before(job, second, first);
}

static void count_turns(const struct job *job, struct turn *turn)
{
    int32_t place = 0;
    for (int32_t i = 0; i < turn->first->members; i++) {
        int order = order_of(job, turn, i, &place);
        turn->like_that += order > 0;
        turn->otherwise += order < 0;
    }
}

static int add_turn(const struct job *job, const struct turn *turn, int32_t member, int order, int confidence,
                    int is_stuck, struct findings *findings)
{
    const struct job_operation *operation = job_member(job, turn->first, member);
    const struct job_instance *first = order > 0 ? turn->first : turn->second;
    const struct job_instance *second = order > 0 ? turn->second : turn->first;
    const char *name = function_name(second->function);
    struct finding *finding = add_mismatch(job, operation, first, confidence, is_stuck, findings);
    int32_t others = order > 0 ? turn->otherwise : turn->like_that;
    if (finding)
        figures_add(&finding->figures, "other_ranks", others);
    if (!finding || buffer_printf(&finding->evidence, "Rank %s called ", job->ranks[operation->rank].name) ||
        text_operation(&finding->evidence, job, first, first->function))
        return -1;
    if (buffer_printf(
            &finding->evidence, " before %s #%lld; %d other rank%s called them in the opposite order",
            name ? name : "another operation", (long long)second->sequence, others, others == 1 ? "" : "s"))
        return -1;
    return append_reason(confidence, &finding->evidence);
}

/*
 * The order that its members usually use, if those of the other order do not usually use theirs: 1 or -1; 0:
 * it does not decide.
 */
static int usual_order(const struct job *job, const int32_t *positions, const struct turn *turn)
{
    int kept[2] = {0, 0}, broken[2] = {0, 0}; /* by order > 0: a member usually uses it, a member does not */
    int32_t place = 0;
    for (int32_t i = 0; i < turn->first->members; i++) {
        int order = order_of(job, turn, i, &place);
        if (!order)
            continue;
        enum call_pattern call_pattern = call_pattern_at(job, positions,
                                                         order > 0 ? job_member_at(job, turn->first, i)
                                                                   : job_member_at(job, turn->second, place));
        kept[order > 0] |= call_pattern == CALL_PATTERN_KEPT;
        broken[order > 0] |= call_pattern == CALL_PATTERN_BROKEN;
    }
    if (kept[1] && broken[0] && !kept[0] && !broken[1])
        return 1;
    return kept[0] && broken[1] && !kept[1] && !broken[0] ? -1 : 0;
}

/*
 * The order that fewer members used; of two halves, the one that its members do not usually use. 0: cannot be
 * determined.
 */
static int wrong_order(const struct job *job, const int32_t *positions, const struct turn *turn,
                       enum confidence *confidence)
{
    if (turn->like_that != turn->otherwise) {
        *confidence = CONFIDENCE_HIGH;
        return turn->like_that < turn->otherwise ? 1 : -1;
    }
    int usual = usual_order(job, positions, turn);
    *confidence = usual ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
    return -usual;
}

static int name_disorderly(const struct job *job, const int32_t *positions, const struct turn *turn,
                           int is_stuck, struct findings *findings)
{
    enum confidence confidence;
    int wrong = wrong_order(job, positions, turn, &confidence);
    int32_t place = 0;
    for (int32_t i = 0; i < turn->first->members; i++) {
        int order = order_of(job, turn, i, &place);
        if (order && (!wrong || order == wrong) &&
            add_turn(job, turn, i, order, confidence, is_stuck, findings))
            return -1;
    }
    return 0;
}

/*
 * Only the first member of both adds the finding. It is nearly always the same rank; comparing all members
 * would take long.
 */
static int is_turned(const struct job *job, const struct turn *turn, int32_t rank)
{
    int32_t first = job_member_at(job, turn->first, 0), second = job_member_at(job, turn->second, 0);
    int32_t of = job->operations[first].rank;
    return of == job->operations[second].rank && of != rank && is_before(job, second, first);
}

/* The collective that its rank called before it on the same communicator, in another group call; -1: none. */
static int32_t note_previous(const struct job *job, int32_t at, int32_t *latest)
{
    const struct job_operation *operation = &job->operations[at];
    int32_t before = latest[operation->communicator];
    latest[operation->communicator] = at;
    if (before < (int32_t)job->ranks[operation->rank].first ||
        job->operations[before].group == operation->group ||
        job->operations[before].function == operation->function)
        return -1;
    return before;
}

static int find_turns(const struct job *job, const int32_t *positions, const unsigned char *stuck,
                      int want_stuck, unsigned char *seen, int32_t *latest, struct findings *findings)
{
    for (size_t i = 0; i < job->communicator_count; i++)
        latest[i] = -1;
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int32_t before =
            function_is_point_to_point(operation->function) ? -1 : note_previous(job, (int32_t)i, latest);
        if (before < 0 || seen[operation->communicator] ||
            !job->communicators[operation->communicator].hash || !is_before(job, before, (int32_t)i))
            continue;
        int32_t first = job->operations[before].instance;
        struct turn turn = {&job->instances[first], &job->instances[operation->instance], 0, 0};
        if ((stuck[first] || stuck[operation->instance]) != want_stuck ||
            !is_turned(job, &turn, operation->rank))
            continue;
        count_turns(job, &turn);
        seen[operation->communicator] = 1;
        if (name_disorderly(job, positions, &turn, want_stuck, findings))
            return -1;
    }
    return 0;
}

int find_disagreements(const struct job *job, const int32_t *positions, const unsigned char *stuck,
                       struct findings *findings)
{
    unsigned char *seen = array_new(job->communicator_count, 1);
    int32_t *latest = array_new(job->communicator_count, sizeof *latest);
    int failed = !seen || !latest;
    for (int want_stuck = 1; !failed && want_stuck >= 0; want_stuck--)
        failed = find_terms(job, positions, stuck, want_stuck, seen, findings) ||
                 find_turns(job, positions, stuck, want_stuck, seen, latest, findings);
    free(seen);
    free(latest);
    return failed ? -1 : 0;
}
