#include "postmortem/pending.h"

#include "job/record_extents.h"
#include "postmortem/recorded.h"
#include "verdict/words.h"

int is_pending(const struct absence *absence, const struct job_instance *instance, int to_be_sure)
{
    const struct job *job = absence->job;
    int32_t past = 0;
    if (instance->members >= instance->expected)
        return 0;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        if (to_be_sure ? passing_is_held(&absence->passing, at) : !passing_is_past(&absence->passing, at))
            continue;
        if (job->finished_only || passing_next_began(&absence->passing, at) ||
            !function_is_full_exchange(instance->function))
            return 0;
        past++;
    }
    return past < instance->members;
}

/* Whether the GPU of a member never got to it, though its host had called it. */
static int lacks_a_start(const struct absence *absence, const struct job_instance *instance)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (passing_never_began(&absence->passing, job_member_at(absence->job, instance, i)))
            return 1;
    return 0;
}

/* Where one got past, all can: who has no end there only lost the record of it. */
static int somebody_is_past(const struct absence *absence, const struct job_instance *instance)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (passing_is_past(&absence->passing, job_member_at(absence->job, instance, i)))
            return 1;
    return 0;
}

void note_waiting(struct absence *absence, const struct job_instance *instance)
{
    if (!lacks_a_start(absence, instance) && somebody_is_past(absence, instance))
        return;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(absence->job, instance, i);
        if (passing_waits(&absence->passing, at))
            absence->ranks[absence->job->operations[at].rank].is_waiting = 1;
    }
}

/* A rank that went on to later operations of the sequence only lost the record of this one. */
static int went_past(const struct absence *absence, const struct job_instance *instance, int32_t rank)
{
    const int64_t *last = extents_last(absence->extents, rank, instance->communicator, instance->function);
    return instance->function != FUNCTION_SEND && last && *last > instance->sequence;
}

/* Where a rank stopped of which others got past more than is recorded is not known. */
static int is_record_lost(const struct absence *absence, const struct job_instance *instance, int32_t rank)
{
    return instance->function != FUNCTION_SEND &&
           extents_lack(absence->extents, rank, instance->communicator, instance->function);
}

static int32_t place_of(const struct absence *absence, const struct job_instance *instance)
{
    int32_t least = INT32_MAX;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t position = absence->positions[job_member_at(absence->job, instance, i)];
        if (position >= 0 && position < least)
            least = position;
    }
    return least;
}

/* Whether those who wait in an instance do so for their own mistake: all of them departed from their
 * programme, and a rank that is absent keeps to its own, as many others do. */
static int is_odd_call(const struct absence *absence, const struct job_instance *instance, int32_t rank)
{
    const struct course_of_rank *courses = absence->programme.ranks;
    int32_t left = 0;
    for (int32_t i = 0; i < instance->members; i++)
        left += courses[job_member(absence->job, instance, i)->rank].course == COURSE_LEFT;
    return courses[rank].course == COURSE_KEPT && left == instance->members &&
           absence->courses.left <= absence->courses.kept;
}

/*
 * Of the pending operations that a rank is missing from, the one that came first in its step is kept. One
 * that left no trace, or none of the last, may have lost it: it takes an operation that is pending for sure.
 */
static void note_absent(struct absence *absence, int32_t number, int32_t place, int32_t rank)
{
    const struct job_instance *instance = &absence->job->instances[number];
    struct attendance *of = rank < 0 ? NULL : &absence->ranks[rank];
    if (!of || of->came_to == number || went_past(absence, instance, rank))
        return;
    if (is_odd_call(absence, instance, rank))
        return;
    int is_lost = is_record_lost(absence, instance, rank);
    if ((is_lost || !is_recorded(absence->job, rank)) && !absence->is_sure)
        return;
    int32_t step = of->missing_from < 0 ? INT32_MAX : absence->job->instances[of->missing_from].step;
    if (of->missing_from >= 0 && (instance->step > step || (instance->step == step && place >= of->place)))
        return;
    of->missing_from = number;
    of->place = place;
    of->is_lost = is_lost;
}

static void note_waiting_in(struct absence *absence, int32_t number)
{
    const struct job_instance *instance = &absence->job->instances[number];
    absence->pending[number] = 1;
    for (int32_t i = 0; i < instance->members; i++) {
        struct attendance *of = &absence->ranks[job_member(absence->job, instance, i)->rank];
        of->is_waiting = 1;
        of->came_to = number;
    }
}

void note_pending(struct absence *absence, int32_t number)
{
    const struct job *job = absence->job;
    const struct job_instance *instance = &job->instances[number];
    int32_t place = place_of(absence, instance);
    absence->is_sure = is_pending(absence, instance, 1);
    /* What may be over, and lacks nobody but whose record is lost, says nothing. */
    if (!absence->is_sure && !absence->passing.lacking[number])
        return;
    note_waiting_in(absence, number);
    if (instance->function == FUNCTION_SEND) {
        note_absent(absence, number, place, instance->sender);
        note_absent(absence, number, place, instance->receiver);
        return;
    }
    const struct job_communicator *communicator = &job->communicators[instance->communicator];
    for (size_t i = 0; i < communicator->seat_count; i++)
        note_absent(absence, number, place, communicator->seats[i].rank);
    for (size_t i = 0; i < communicator->told_count; i++)
        note_absent(absence, number, place, communicator->told[i].rank);
    for (size_t i = 0; communicator->is_whole && i < job->rank_count; i++)
        if (job_rank_in(job, instance->communicator, job->ranks[i].global_rank) == (int32_t)i)
            note_absent(absence, number, place, (int32_t)i);
    note_absent(absence, number, place, communicator->silent);
}

/* So many ranks that wait are listed in all: each rank that is absent lists who waits for it. */
enum { WAITING_MOST = 1 << 20 };

static int32_t list_most(const struct absence *absence, const struct job_instance *instance)
{
    size_t most = absence->absent_count ? WAITING_MOST / absence->absent_count : WAITING_MOST;
    return (size_t)instance->members < most ? instance->members : (int32_t)most;
}

int say_waiting(const struct absence *absence, int32_t number, struct finding *finding)
{
    const struct job *job = absence->job;
    const struct job_instance *instance = &job->instances[number];
    int32_t listed = list_most(absence, instance);
    for (int32_t i = 0; i < listed; i++)
        if (finding_add_peer(finding, job_member(job, instance, i)->rank))
            return -1;
    figures_add(&finding->figures, "begun_ranks", instance->members);
    figures_add(&finding->figures, "expected_ranks", instance->expected);
    return buffer_printf(&finding->evidence, "%d of %d ranks %s ", instance->members, instance->expected,
                         job->calls_only ? "called" : "started") ||
                   text_operation(&finding->evidence, job, instance, instance->function) ||
                   (!job->calls_only && buffer_append_text(&finding->evidence, ", and it never finished"))
               ? -1
               : 0;
}
