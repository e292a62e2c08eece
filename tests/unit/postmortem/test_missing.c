#include "job/loader.h"
#include "job/membership.h"
#include "job/record_extents.h"
#include "postmortem/missing.h"
#include "verdict/finding.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Four ranks and what each called: r an AllReduce, g an AllGather, b a Broadcast of all; R an AllReduce of
 * ranks 1 and 2, P one of 0 and 3; s a send to the next rank, v a receive from the one before. An asterisk:
 * with twice the size. A hash: with another root; a plus: with another datatype. A question mark: with a size
 * that is not known. An exclamation mark: it began and never ended; a tilde: its GPU never began it. A point
 * before it: its record was lost. A bar ends a step. A rank that called nothing left no trace.
 */
enum { RANKS = 4, COMMUNICATORS = 3, MOST = 64 };

static const char *const MEMBERS[COMMUNICATORS] = {"0123", "12", "03"};

struct played {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[COMMUNICATORS];
    struct job_operation operations[MOST];
    struct job_instance instances[MOST];
    int32_t members[MOST];
    size_t member_count;
    int64_t numbers[RANKS][256]; /* how many of a letter a rank called */
};

/* The instance of an operation, new where it is the first of it. */
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
                                        .position = position,
                                        .tag = -1,
                                        .group = (int32_t)at,
                                        .previous = at > first ? (int32_t)at - 1 : -1,
                                        .start_ns = queued ? TIME_UNKNOWN : (int64_t)at,
                                        .end_ns = stuck ? TIME_UNKNOWN : (int64_t)at + 1,
                                        .unfinished = (unsigned)stuck};
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
            .size = (int64_t)strlen(MEMBERS[i]), .hashed = 1, .label = label, .silent = -1};
        for (int64_t number = 0; number < communicator->size; number++) {
            int32_t rank = MEMBERS[i][number] - '0';
            if (played->ranks[rank].count)
                assert_int_equal(job_seat(communicator, number, rank), 0);
        }
    }
    job_seat_silent_ranks(&played->job);
}

static void play(struct played *played, const char *const calls[RANKS])
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

/* `expected`: of each finding its kind, rank, confidence, step, and who waits, as in "missing 1 high 2 <03 ".
 */
static void check_found(struct played *played, const char *expected)
{
    struct findings findings = {0};
    struct error error = ERROR_INIT;
    char found[512] = "";
    size_t used = 0;
    struct extents extents;
    assert_int_equal(extents_init(&extents, &played->job), 0);
    assert_int_equal(find_absence(&played->job, &extents, &(struct diagnose_options){0}, &findings, &error),
                     0);
    extents_release(&extents);
    for (size_t i = 0; i < findings.count && used < sizeof found / 2; i++) {
        const struct finding *finding = &findings.items[i];
        used += (size_t)snprintf(found + used, sizeof found - used, "%s %d %s %d <",
                                 finding_kind_name(finding->kind), (int)finding->rank,
                                 confidence_name(finding->confidence), (int)finding->first_step);
        for (size_t j = 0; j < finding->peer_count; j++)
            used += (size_t)snprintf(found + used, sizeof found - used, "%d", (int)finding->peers[j]);
        used += (size_t)snprintf(found + used, sizeof found - used, " ");
    }
    assert_string_equal(found, expected);
    findings_release(&findings);
    for (int i = 0; i < COMMUNICATORS; i++)
        free(played->communicators[i].seats);
}

static void check(const char *zero, const char *one, const char *two, const char *three, const char *expected)
{
    struct played played;
    play(&played, (const char *const[]){zero, one, two, three});
    check_found(&played, expected);
}

/*
 * Rank 1 sends to rank 2 and receives from rank 0 in one call, each step: of the sends no end is recorded,
 * and rank 2 left no trace. That the next call began says that both are over.
 */
static void what_was_called_as_one(void **state)
{
    enum { SENT = 3, RECEIVED, SENT_AGAIN, RECEIVED_AGAIN };
    struct played played;
    play(&played, (const char *const[]){"s|s|r!", "s!v|s!v|r!", "", "||r!"});
    played.operations[RECEIVED].group = SENT;
    played.operations[RECEIVED_AGAIN].group = SENT_AGAIN;
    played.operations[RECEIVED].previous = -1;
    played.operations[RECEIVED_AGAIN].previous = RECEIVED;
    check_found(&played, "ended_early 2 high 2 <013 ");
}

/* Whoever waits for them is named with them. */
static void who_never_came(void **state)
{
    check("r|rg!", "r|r", "r|rg!", "r|rg!", "missing 1 high 1 <023 ");
    check("r|r!", "r", "r", "r|r!", "missing 1 high 1 <03 missing 2 high 1 <03 ");
    check("r|rg", "r|rg", "r|rg", "r|rg", "");
}

/* Rank 2 waits for rank 1, and is not to blame for what it does not come to meanwhile. */
static void who_waits_elsewhere(void **state)
{
    check("rPg!", "r", "rR!", "rPg!", "missing 1 high 0 <2 ");
}

/* Of what a rank is missing from, the first in the job: rank 0 tells of a later one, and is read before. */
static void the_first_it_is_missing_from(void **state)
{
    check("rP|r!", "r", "rR!", "rP|r!", "missing 1 high 0 <2 ");
    check("rPg!", "r", "rR!", "rPg!", "missing 1 high 0 <2 ");
}

/* Whoever got past an operation met all of its members, whatever was recorded of them. */
static void who_only_lost_a_record(void **state)
{
    check("r|r", "r|r", "r|.r", "r|r", "");
    check("r|r!g", "r|r!g", "r|.rg", "r|r!g", "");
    check("b|b!", "b|.b|b", "b|b!", "b|b!", "");
}

/* The leaf of a tree notes its stop, whoever is missing; who is done with a Broadcast waited for nobody. */
static void an_end_beside_others_that_never_came(void **state)
{
    check("r|r", "r|r!", "r", "r|r!", "missing 2 high 1 <013 ");
    check("r|r", "r|r", "r", "r|r", "");
    check("b|b", "b|b!", "b", "b|b!", "");
    check("r|rg", "r|r!", "r", "r|r!", "");
}

/* Of kernels whose stop the plugin never sees, the last is no more pending than those before it. */
static void ends_that_are_never_recorded(void **state)
{
    check("r!r!r!", "r!r!r!", "r!r!r!", "", "");
    check("r!r!r!", "rrr", "r!r!r!", "", "");
    check("r!gr!", "r!gr!", "r!gr!", "", "");
    check("r!gr!g!", "r!gr!g!", "r!gr!g!", "", "ended_early 3 high 0 <012 ");
    check("r!r*r!", "r!r*r!", "r!r*r!", "", "");
    check("r!r!r*!", "r!r!r*!", "r!r!r*!", "", "ended_early 3 high 0 <012 ");
    check("b!b!b!", "b!b!b!", "b!b!b!", "", "");
    /* The last of its kind says it, whatever others before it. */
    check("rrr!r!", "rrr!r!", "rrr!r!", "", "");
    check("r!r!rr!", "r!r!rr!", "r!r!rr!", "", "ended_early 3 high 0 <012 ");
    /* Who is known to have stopped before it is. */
    check("r!r!r!", "r!r!r!", "r!r!r!", "r!r!", "missing 3 high 0 <012 ");
}

static void who_left_no_trace(void **state)
{
    check("r!", "r!", "r!", "", "ended_early 3 high 0 <012 ");
    check("r!", "r!", "", "", "ended_early 2 low 0 <01 ended_early 3 low 0 <01 ");
    /* The only one that can be at the other place. */
    check("rP!", "r", "r", "", "ended_early 3 high 0 <0 ");
    check("rP!", "r", "", "", "");
    /* Another that stopped is enough to hold the rest up. */
    check("rr!", "rr!", "r", "", "missing 2 high 0 <01 ended_early 3 low 0 <01 ");
}

/* Others got past what a rank has no record of: it was there, and where it stopped is not known. */
static void whose_record_ends_before_the_others(void **state)
{
    check("r|r|r|r!", "r|r|r|r!", "r", "r|r|r|r!", "ended_early 2 high 3 <013 ");
    check("r|r|r|r!", "r|r|r", "r", "r|r|r|r!", "missing 1 high 3 <03 ended_early 2 low 3 <03 ");
    check("r|r|r|r!", "r", "r", "r|r|r|r!", "ended_early 1 low 3 <03 ended_early 2 low 3 <03 ");
    check("r|r|r|r!", "r|r|r|r!", "r", "", "ended_early 2 low 3 <01 ended_early 3 low 3 <01 ");
    /* It lost the file of the communicator; of the other it has one. */
    check("r|r|r!", "rR|rR|r!", "R|R", "r|r|r!", "ended_early 2 high 2 <013 ");
    /* What was pending is not sure. */
    check("r!r!r!r!", "r!r!r!r!", "r!", "r!r!r!r!", "");
    /* Broadcasts end without all: it may be there that it stopped. */
    check("b|b|b!", "b|b|b!", "b", "b|b|b!", "missing 2 high 2 <013 ");
}

/*
 * Of rank 3's file of all there is the beginning, of that with rank 0 all: it is absent where the first that
 * it is missing from is, and that is whose record counts, whichever is looked at first.
 */
static void whether_the_first_it_is_missing_from_is_lost(void **state)
{
    check("r|rP!", "r|r|r!", "r|r|r!", "r", "missing 3 high 1 <0 ");
    check("r|r|r!", "r|rR!", "r", "r|r|r!", "missing 2 high 1 <1 ");
}

/* What did not end was done all the same where the next began: rank 3 only lost the record of it. */
static void what_others_went_on_from(void **state)
{
    check("r|b!r", "r|b!r", "r|b!r", "r|.br", "");
    check("r|b!", "r|b!", "r|b!", "r", "missing 3 high 1 <012 ");
}

static void whose_trace_is_cut(void **state)
{
    struct played played;
    play(&played, (const char *const[]){"r|r!", "r", "r|r!", "r|r!"});
    played.ranks[1].cut = CUT_AT_END;
    check_found(&played, "ended_early 1 high 1 <023 ");
}

/* How sure it is that ranks never came where most traces stop like that. */
static void check_cut(const char *two, enum cut most, int32_t last_step, const char *expected)
{
    struct played played;
    play(&played, (const char *const[]){"r|r!", "r", two, "r|r!"});
    played.job.most_cut = (uint8_t)most;
    played.operations[0].step = last_step;
    check_found(&played, expected);
}

/*
 * Files that are cut, each somewhere, look like ranks that never came: midway; or several of them; or where
 * others had gone on for three steps. A job that was killed while it hung leaves no ends either.
 */
static void where_most_traces_are_cut(void **state)
{
    check_cut("r|r!", CUT_NOT, 9, "missing 1 high 1 <023 ");
    check_cut("r|r!", CUT_AT_END, 3, "missing 1 high 1 <023 ");
    check_cut("r|r!", CUT_AT_END, 4, "missing 1 low 1 <023 ");
    check_cut("r|r!", CUT_MIDWAY, 1, "missing 1 low 1 <023 ");
    check_cut("r", CUT_AT_END, 1, "missing 1 low 1 <03 missing 2 low 1 <03 ");
}

/* Rank 3's process is also `other`'s, and they cannot be told apart. */
static void check_parts(const char *const calls[RANKS], int other, const char *expected)
{
    struct played played;
    play(&played, calls);
    played.ranks[3].is_part = played.ranks[other].is_part = 1;
    played.ranks[3].process_id = played.ranks[other].process_id;
    check_found(&played, expected);
}

/* Rank 3 may be rank 2, which waits for rank 1; but not rank 1, which does not wait. */
static void who_may_wait_as_another(void **state)
{
    const char *const calls[] = {"rP!", "r", "rR!", "r"};
    check_parts(calls, 2, "missing 1 high 0 <2 missing 3 low 0 <0 ");
    check_parts(calls, 1, "missing 1 high 0 <2 missing 3 high 0 <0 ");
    /* Where nobody else is missing from an operation of all, all others wait; one of the most is none of all.
     */
    check_parts((const char *const[]){"rr!", "rr!", "rr!", "r"}, 2, "missing 3 high 0 <012 ");
    check_parts((const char *const[]){"P", "RR!", "R", "PP!"}, 2, "missing 0 high 0 <3 missing 2 low 0 <1 ");
}

/* If all others wait for rank 3 it is not one of them. */
static void who_cannot_be_another_since_all_wait(void **state)
{
    check_parts((const char *const[]){"rr!", "rr!", "rr!", "r"}, 2, "missing 3 high 0 <012 ");
    check_parts((const char *const[]){"rr!", "r", "rr!", "r"}, 2,
                "missing 1 high 0 <02 missing 3 low 0 <02 ");
}

/* That nothing at all is recorded of a rank is not for a cut. */
static void who_left_no_trace_where_most_are_cut(void **state)
{
    struct played played;
    play(&played, (const char *const[]){"r|r!", "r|r!", "r|r!", ""});
    played.job.most_cut = CUT_MIDWAY;
    check_found(&played, "ended_early 3 high 1 <012 ");
}

/* So do those of which not even that is recorded, alone or with one more. */
static void where_records_end_before_and_most_are_cut(void **state)
{
    static const struct {
        const char *one;
        enum cut most;
        const char *expected;
    } cases[] = {{"r|r|r|r!", CUT_NOT, "ended_early 2 high 3 <013 "},
                 {"r|r|r|r!", CUT_MIDWAY, "ended_early 2 low 3 <013 "},
                 {"r|r|r", CUT_NOT, "missing 1 high 3 <03 ended_early 2 low 3 <03 "},
                 {"r|r|r", CUT_AT_END, "missing 1 low 3 <03 ended_early 2 low 3 <03 "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct played played;
        play(&played, (const char *const[]){"r|r|r|r!", cases[i].one, "r", "r|r|r|r!"});
        played.job.most_cut = (uint8_t)cases[i].most;
        check_found(&played, cases[i].expected);
    }
}

/* Some wait in one operation and some in another: the smaller side; of equal ones who is not used to it. */
static void who_called_something_else(void **state)
{
    check("r|r!", "r|r!", "r|g!", "r|r!", "mismatch 2 high 1 <013 ");
    check("rg|rg|rg!", "rg|rg|rr!", "rg|rg|rg!", "rg|rg|rr!",
          "mismatch 1 medium 2 <02 mismatch 3 medium 2 <02 ");
    check("r!", "r!", "g!", "g!",
          "mismatch 0 low 0 <23 mismatch 1 low 0 <23 mismatch 2 low 0 <01 mismatch 3 low 0 <01 ");
    /* Rank 3 came to neither. */
    check("r|r!", "r|r!", "r|g!", "r", "missing 3 high 1 <01 ");
    /* Ranks 1 and 2 wait for each other, but not on one communicator. */
    check("r!", "R!", "r!", "r!", "");
}

/* Of two equal sides, where what one is used to is not known, or neither is used to it. */
static void who_called_something_else_by_habit(void **state)
{
    check("rg|rg|rg!", ".r.g|.r.g|rr!", "rg|rg|rg!", ".r.g|.r.g|rr!",
          "mismatch 0 low 2 <13 mismatch 1 low 2 <02 mismatch 2 low 2 <13 mismatch 3 low 2 <02 ");
    check("rg|rg|rb!", "rg|rg|rr!", "rg|rg|rb!", "rg|rg|rr!",
          "mismatch 0 low 2 <13 mismatch 1 low 2 <02 mismatch 2 low 2 <13 mismatch 3 low 2 <02 ");
}

/* Their hosts called it all; the GPU of one is busy with something else for good. */
static void who_never_began_what_its_host_called(void **state)
{
    check("rg|r!g~", "rg|r~g~", "rg|r!g~", "rg|r!g~", "missing 1 high 1 <023 ");
    /* Ranks 0 and 3 wait for 1 and 2, of which 2 waits for 1. */
    check("Pr|Pr!", "Rr|R~r~", "Rr|R!r~", "Pr|Pr!", "missing 1 high 1 <2 ");
    check("rr|r!", "rr|r~", "rr|r~", "rr|r!", "missing 1 low 1 <03 missing 2 low 1 <03 ");
    /* Nobody waits; nobody's starts are known; of the first of its kind no start is known to be recorded. */
    check("r|r~", "r|r~", "r|r~", "r|r~", "");
    check("r|r!", "r~|r~", "r|r!", "r|r!", "");
    check("r|g!", "r|g~", "r|g!", "r|g!", "");
    /* Whom the host keeps away is told by that. */
    check("rr|r!", "rr", "rr|r~", "rr|r!", "missing 1 high 1 <023 ");
}

static void traces_that_do_not_tell_who_never_began(void **state)
{
    const char *const calls[] = {"rr|r!", "rr|r~", "rr|r!", "rr|r!"};
    struct played played;
    play(&played, calls);
    played.job.most_cut = CUT_AT_END;
    check_found(&played, "missing 1 low 1 <023 ");
    play(&played, calls);
    played.ranks[1].cut = CUT_AT_END;
    check_found(&played, "ended_early 1 high 1 <023 ");
    play(&played, calls);
    played.job.lost_events = 1;
    check_found(&played, "missing 1 low 1 <023 ");
    play(&played, calls);
    played.ranks[1].is_part = 1;
    check_found(&played, "missing 1 low 1 <023 ");
    play(&played, calls);
    played.job.finished_only = 1;
    check_found(&played, "");
    play(&played, calls);
    for (size_t i = 0; i < played.job.operation_count; i++)
        played.operations[i].inferred = 1;
    check_found(&played, "");
}

/* With another size than most; of two halves, who is not used to it. */
static void who_called_with_another_size(void **state)
{
    check("r|r!", "r|r*!", "r|r!", "r|r!", "mismatch 1 high 1 < ");
    check("r|r|r!", "r|r|r*!", "r|r|r*!", "r|r|r!", "mismatch 1 medium 2 < mismatch 2 medium 2 < ");
    /* Nobody knows what ranks 1 and 2 are used to. */
    check("r|r|r!", ".r|.r|r*!", ".r|.r|r*!", "r|r|r!",
          "mismatch 0 low 2 < mismatch 1 low 2 < mismatch 2 low 2 < mismatch 3 low 2 < ");
    /* Nor what ranks 0 and 3 are, who may not be used to theirs either. */
    check("r?|r?|r!", "r|r|r*!", "r|r|r*!", "r?|r?|r!",
          "mismatch 0 low 2 < mismatch 1 low 2 < mismatch 2 low 2 < mismatch 3 low 2 < ");
    /* Who sends less than the others wait for is done, and so is who can do with less. */
    check("r|r*!", "r|r", "r|r*!", "r|r*!", "mismatch 1 high 1 < ");
    check("r|r*!", "r|r", "r|r*", "r|r*!", "mismatch 1 high 1 < ");
    /* What holds somebody up is told, not what went well before. */
    check("r|r|r!", "r|r*|r*!", "r|r|r!", "r|r|r!", "mismatch 1 high 2 < ");
    /* It went well; what comes after the first is no news. */
    check("r|r|r", "r|r*|r*", "r|r|r", "r|r|r", "mismatch 1 low 1 < ");
}

/* A size that cannot be read is no other size, and has no say in which one is. */
static void sizes_that_are_not_known(void **state)
{
    check("r|r!", "r|r?!", "r|r!", "r|r!", "");
    check("r|r?!", "r|r?!", "r|r?!", "r|r?!", "");
    check("r|r!", "r|r?!", "r|r?!", "r|r*!", "mismatch 0 low 1 < mismatch 3 low 1 < ");
    check("r|r!", "r|r?!", "r|r!", "r|r*!", "mismatch 3 high 1 < ");
}

static void who_called_with_another_root_or_datatype(void **state)
{
    check("r|b!", "r|b#!", "r|b!", "r|b!", "mismatch 1 high 1 < ");
    check("r|r!", "r|r!", "r|r+!", "r|r!", "mismatch 2 high 1 < ");
    check("r|r", "r|r", "r|r+", "r|r", "mismatch 2 low 1 < ");
    check("P|P!", "", "", "P|P+!", "mismatch 0 low 1 < mismatch 3 low 1 < ");
}

/* Two collectives of a communicator, one after the other, in another order than most. */
static void who_called_in_another_order(void **state)
{
    check("rg|rg", "rg|gr", "rg|rg", "rg|rg", "mismatch 1 low 1 < ");
    check("rg|r!g!", "rg|g!r!", "rg|r!g!", "rg|r!g!", "mismatch 1 high 1 < ");
    check("rg|gr!", "rg|r!g", "rg|r!g", "rg|r!g", "mismatch 0 high 1 < ");
    check("rg|r!g!", "rg|r!g!", "rg|g!r!", "rg|g!r!",
          "mismatch 0 low 1 < mismatch 1 low 1 < mismatch 2 low 1 < mismatch 3 low 1 < ");
    /* On communicators that share no stream, everyone has its own order. */
    check("rP|Pr", "r|r", "r|r", "rP|rP", "");
}

/* What finished is listed in no order of calls; what is called as one has none; of what is lost nothing is
 * known. */
static void orders_that_say_nothing(void **state)
{
    struct played played;
    play(&played, (const char *const[]){"rg|rg", "rg|gr", "rg|rg", "rg|rg"});
    played.job.finished_only = 1;
    check_found(&played, "");
    play(&played, (const char *const[]){"rg|rg", "rg|gr", "rg|rg", "rg|rg"});
    for (size_t i = 0; i < played.job.rank_count; i++)
        played.operations[played.ranks[i].first + 3].group = (int32_t)played.ranks[i].first + 2;
    check_found(&played, "");
    check("rg|.r.g", "rg|gr", ".r.g|rg", ".r.g|rg", "mismatch 1 low 1 < ");
}

/* Without its hash, a communicator may be two. */
static void sizes_of_what_may_be_two(void **state)
{
    struct played played;
    play(&played, (const char *const[]){"r|r!", "r|r*!", "r|r!", "r|r!"});
    played.communicators[0].hashed = 0;
    check_found(&played, "");
}

/* What did not finish is not listed: who is missing there says nothing. */
static void where_only_finished_operations_are_listed(void **state)
{
    struct played played;
    play(&played, (const char *const[]){"r|r!", "r", "r|r!", "r|r!"});
    played.job.finished_only = 1;
    check_found(&played, "");
}

/* Of a send with its receive, the one that is not there. */
static void a_send_or_receive_alone(void **state)
{
    check("rs!", "r", "r", "r", "missing 1 high 0 <0 ");
    check("r", "rv!", "r", "r", "missing 0 high 0 <1 ");
    /* Rank 1 waits for 0 and 0 for 1: nothing tells who took the wrong turn, and it is no other operation. */
    check("rg!", "rv!", "rg!", "rg!", "");
    check("rs!", "rg!", "rg!", "rg!", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_never_came),
        cmocka_unit_test(what_was_called_as_one),
        cmocka_unit_test(who_waits_elsewhere),
        cmocka_unit_test(the_first_it_is_missing_from),
        cmocka_unit_test(who_only_lost_a_record),
        cmocka_unit_test(an_end_beside_others_that_never_came),
        cmocka_unit_test(ends_that_are_never_recorded),
        cmocka_unit_test(who_left_no_trace),
        cmocka_unit_test(whose_record_ends_before_the_others),
        cmocka_unit_test(whether_the_first_it_is_missing_from_is_lost),
        cmocka_unit_test(what_others_went_on_from),
        cmocka_unit_test(whose_trace_is_cut),
        cmocka_unit_test(where_most_traces_are_cut),
        cmocka_unit_test(who_may_wait_as_another),
        cmocka_unit_test(who_cannot_be_another_since_all_wait),
        cmocka_unit_test(who_left_no_trace_where_most_are_cut),
        cmocka_unit_test(where_records_end_before_and_most_are_cut),
        cmocka_unit_test(who_called_something_else),
        cmocka_unit_test(who_called_something_else_by_habit),
        cmocka_unit_test(who_never_began_what_its_host_called),
        cmocka_unit_test(traces_that_do_not_tell_who_never_began),
        cmocka_unit_test(who_called_with_another_size),
        cmocka_unit_test(who_called_with_another_root_or_datatype),
        cmocka_unit_test(who_called_in_another_order),
        cmocka_unit_test(orders_that_say_nothing),
        cmocka_unit_test(sizes_that_are_not_known),
        cmocka_unit_test(sizes_of_what_may_be_two),
        cmocka_unit_test(where_only_finished_operations_are_listed),
        cmocka_unit_test(a_send_or_receive_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
