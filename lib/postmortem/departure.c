#include "postmortem/departure.h"

#include "verdict/words.h"

/*
 * A rank that called something else than comes next in its own programme, or left something out, and whose
 * call never ended or others wait for what it left out. A job that as a whole did something new departs
 * nowhere: more keep to their programme, or as many, where one side of a pair is meant.
 */

/* Somebody waits in a call of that kind, which the rank never made: it is absent there. */
static int is_missed(const struct absence *absence, int32_t rank)
{
    return absence->ranks[rank].missing_from >= 0;
}

int departs_and_waits(const struct absence *absence, int32_t rank)
{
    const struct course_of_rank *course = &absence->programme.ranks[rank];
    return course->course == COURSE_LEFT &&
           (!passing_is_past(&absence->passing, course->departs_at) || is_missed(absence, rank));
}

static int name_waiting(const struct absence *absence, int32_t rank, const struct job_instance *instance,
                        struct finding *finding)
{
    const struct job *job = absence->job;
    if (is_missed(absence, rank))
        instance = &job->instances[absence->ranks[rank].missing_from];
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        if (job->operations[at].rank != rank && !passing_is_past(&absence->passing, at) &&
            finding_add_peer(finding, job->operations[at].rank))
            return -1;
    }
    return 0;
}

static int say_call(const struct job *job, int32_t at, struct buffer *text)
{
    const struct job_operation *operation = &job->operations[at];
    struct job_instance of_any_number = job->instances[operation->instance];
    of_any_number.sequence = -1;
    if (text_operation(text, job, &of_any_number, operation->function))
        return -1;
    if (operation->bytes >= 0 && buffer_printf(text, " (%lld bytes)", (long long)operation->bytes))
        return -1;
    return 0;
}

static int add_departure(const struct absence *absence, int32_t rank, struct courses courses,
                         struct findings *findings)
{
    const struct job *job = absence->job;
    const struct course_of_rank *course = &absence->programme.ranks[rank];
    const struct job_instance *instance = &job->instances[job->operations[course->departs_at].instance];
    struct finding *finding = findings_add_at(findings, job, FINDING_MISMATCH, rank, instance);
    if (!finding)
        return -1;
    finding->stops_job = 1;
    finding->confidence = courses.kept > courses.left ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
    figures_add(&finding->figures, "kept_ranks", (double)courses.kept);
    if (name_waiting(absence, rank, instance, finding) ||
        buffer_printf(&finding->evidence, "Rank %s called ", job->ranks[rank].name) ||
        say_call(job, course->departs_at, &finding->evidence) ||
        buffer_append_text(&finding->evidence, "; in earlier steps it called ") ||
        say_call(job, course->expected, &finding->evidence))
        return -1;
    return buffer_printf(&finding->evidence, " at this point. %d other rank%s repeated %s earlier steps",
                         (int)courses.kept, courses.kept == 1 ? "" : "s",
                         courses.kept == 1 ? "its" : "their");
}

int find_departures(const struct absence *absence, size_t from, struct findings *findings)
{
    struct courses courses = absence->courses;
    int is_first = 1;
    if (!absence->is_stuck || courses.left > courses.kept)
        return 0;
    for (int32_t rank = 0; rank < (int32_t)absence->job->rank_count; rank++) {
        if (!departs_and_waits(absence, rank))
            continue;
        if (is_first)
            findings_forget_low(findings, from);
        is_first = 0;
        if (add_departure(absence, rank, courses, findings))
            return -1;
    }
    return 0;
}

/* Whether something that a rank called after it departed never ended. */
static int waits_since(const struct absence *absence, int32_t rank)
{
    const struct course_of_rank *course = &absence->programme.ranks[rank];
    if (course->course != COURSE_LEFT)
        return 0;
    for (int32_t at = course->departs_at; at < course->first + course->called; at++)
        if (passing_is_held(&absence->passing, at))
            return 1;
    return 0;
}

int find_earlier_departures(const struct absence *absence, struct findings *findings)
{
    struct courses courses = absence->courses;
    if (!courses.kept || courses.left > courses.kept)
        return 0;
    courses.left = courses.kept; /* medium: it may be by design */
    for (int32_t rank = 0; rank < (int32_t)absence->job->rank_count; rank++)
        if (waits_since(absence, rank) && add_departure(absence, rank, courses, findings))
            return -1;
    return 0;
}
