#include "support/played.h"

#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "job/job.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/seats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const MEMBERS[COMMUNICATORS] = {"0123", "12", "03"};

/* The instance of an operation; a new one for its first operation. */
static int32_t instance_of(struct played *played, const struct job_operation *operation, int64_t number)
{
    int32_t sends = operation->function == FUNCTION_SEND, receives = operation->function == FUNCTION_RECV;
    int32_t sender = sends ? operation->rank : receives ? operation->rank - 1 : -1;
    struct job_instance new = {.function = receives ? FUNCTION_SEND : operation->function,
                               .communicator = operation->communicator,
                               .sequence = number,
                               .sender = sender,
                               .receiver = sender < 0 ? -1 : sender + 1,
                               .expected = sender < 0 ? (int32_t)strlen(MEMBERS[operation->communicator]) : 2,
                               .step = operation->step,
                               .tag = -1};
    size_t at = 0;
    while (at < played->job.instance_count &&
           (played->instances[at].function != new.function ||
            played->instances[at].communicator != new.communicator ||
            played->instances[at].sequence != number || played->instances[at].sender != sender))
        at++;
    if (at == played->job.instance_count)
        played->instances[played->job.instance_count++] = new;
    return (int32_t)at;
}

/* The call at the beginning of the text. */
static void play_one(struct played *played, int32_t rank, int32_t step, int32_t position, const char *text)
{
    static const char letters[] = "rgbRPsv";
    static const uint8_t functions[] = {FUNCTION_ALL_REDUCE, FUNCTION_ALL_GATHER, FUNCTION_BROADCAST,
                                        FUNCTION_ALL_REDUCE, FUNCTION_ALL_REDUCE, FUNCTION_SEND,
                                        FUNCTION_RECV};
    size_t at = played->job.operation_count++, twice = text[1] == '*', unknown = text[1] == '?';
    size_t rooted = text[1] == '#', typed = text[1] == '+';
    size_t first = played->ranks[rank].first;
    char state = text[1 + twice + unknown + rooted + typed];
    int queued = state == '~', stuck = state == '!' || queued;
    assert_true(at < MOST && strchr(letters, *text));
    struct job_operation *operation = &played->operations[at];
    *operation = (struct job_operation){.rank = rank,
                                        .communicator = *text == 'R'   ? 1
                                                        : *text == 'P' ? 2
                                                                       : 0,
                                        .function = functions[strchr(letters, *text) - letters],
                                        .bytes = unknown ? COUNT_UNKNOWN : 1024 << twice,
                                        .root = (signed)rooted,
                                        .datatype = typed ? DATATYPE_INT32 : DATATYPE_FLOAT32,
                                        .step = step,
                                        .tag = -1,
                                        .group = (int32_t)at,
                                        .previous = at > first ? (int32_t)at - 1 : -1,
                                        .start_ns = queued ? TIME_UNKNOWN : (int64_t)at,
                                        .end_ns = stuck ? TIME_UNKNOWN : (int64_t)at + 1,
                                        .unfinished = (unsigned)stuck};
    played->positions[at] = position;
    operation->instance = instance_of(played, operation, played->numbers[rank][(unsigned char)*text]++);
    played->ranks[rank].count++;
}

static void play_rank(struct played *played, int32_t rank, const char *calls)
{
    int32_t step = 0, position = 0;
    played->ranks[rank] = (struct job_rank){
        .first = played->job.operation_count, .global_rank = rank, .process_id = *calls ? rank : -1};
    for (; *calls; calls++) {
        if (*calls == '|') {
            step++;
            position = 0;
        } else if (*calls == '.') {
            played->numbers[rank][(unsigned char)*++calls]++;
            position++;
        } else if (!strchr("*#+?!~", *calls)) {
            play_one(played, rank, step, position++, calls);
        }
    }
}

static void seat_all(struct played *played)
{
    static char label[] = "c";
    for (int i = 0; i < COMMUNICATORS; i++) {
        struct job_communicator *communicator = &played->communicators[i];
        *communicator = (struct job_communicator){
            .size = (int64_t)strlen(MEMBERS[i]), .hash = 1, .label = label, .silent = -1};
        for (int64_t number = 0; number < communicator->size; number++) {
            int32_t rank = MEMBERS[i][number] - '0';
            if (played->ranks[rank].count)
                assert_int_equal(communicator_set_member(communicator, number, rank), 0);
        }
    }
    seat_silent_ranks(&played->job);
}

void play(struct played *played, const char *const calls[RANKS])
{
    *played = (struct played){
        .job = {.rank_count = RANKS, .expected_ranks = RANKS, .communicator_count = COMMUNICATORS}};
    played->job.ranks = played->ranks;
    played->job.communicators = played->communicators;
    played->job.operations = played->operations;
    played->job.instances = played->instances;
    played->job.instance_members = played->members;
    for (int32_t rank = 0; rank < RANKS; rank++)
        play_rank(played, rank, calls[rank]);
    for (size_t i = 0; i < played->job.instance_count; i++) {
        played->instances[i].first_member = (uint32_t)played->member_count;
        for (size_t j = 0; j < played->job.operation_count; j++)
            if (played->operations[j].instance == (int32_t)i) {
                played->members[played->member_count++] = (int32_t)j;
                played->instances[i].members++;
            }
    }
    seat_all(played);
}

void find_played(struct played *played, struct findings *findings)
{
    struct error error = ERROR_INIT;
    struct extents extents;
    *findings = (struct findings){0};
    assert_int_equal(extents_init(&extents, &played->job), 0);
    assert_int_equal(find_absence(&played->job, played->positions, &extents, &(struct diagnose_options){0},
                                  findings, &error),
                     0);
    extents_release(&extents);
    for (int i = 0; i < COMMUNICATORS; i++)
        free(played->communicators[i].member_list);
}

void check_found(struct played *played, const char *expected)
{
    struct findings findings;
    char found[512] = "";
    size_t used = 0;
    find_played(played, &findings);
    for (size_t i = 0; i < findings.count && used < sizeof found / 2; i++) {
        const struct finding *finding = &findings.items[i];
        used += (size_t)snprintf(found + used, sizeof found - used, "%s %d", finding_kind_name(finding->kind),
                                 (int)finding->rank);
        for (size_t j = 1; j < finding->candidate_count; j++)
            used += (size_t)snprintf(found + used, sizeof found - used, "/%d", (int)finding->candidates[j]);
        used += (size_t)snprintf(found + used, sizeof found - used, " %s %d <",
                                 confidence_name(finding->confidence), (int)finding->first_step);
        for (size_t j = 0; j < finding->peer_count; j++)
            used += (size_t)snprintf(found + used, sizeof found - used, "%d", (int)finding->peers[j]);
        used += (size_t)snprintf(found + used, sizeof found - used, " ");
    }
    assert_string_equal(found, expected);
    findings_release(&findings);
}

void check(const char *zero, const char *one, const char *two, const char *three, const char *expected)
{
    struct played played;
    play(&played, (const char *const[]){zero, one, two, three});
    check_found(&played, expected);
}
