#include "support/cmocka_all.h"
#include "support/played.h"
#include "support/spoken.h"

/*
 * Rank 1 sends to rank 2 and receives from rank 0 in one call per step. The sends have no recorded end, and
 * rank 2 left no trace. The start of the next call shows that both are over.
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
    check_found(&played, "missing 2 medium 2 <013 ");
}

/* Ranks that wait for them are named, too. */
static void who_never_came(void **state)
{
    check("r|rg!", "r|r", "r|rg!", "r|rg!", "missing 1 high 1 <023 ");
    check("r|r!", "r", "r", "r|r!", "missing 1 high 1 <03 missing 2 high 1 <03 ");
    check("r|rg", "r|rg", "r|rg", "r|rg", "");
}

/* Rank 2 waits for rank 1, and is not at fault for operations that it does not join in the meantime. */
static void who_waits_elsewhere(void **state)
{
    check("rPg!", "r", "rR!", "rPg!", "missing 1 high 0 <2 ");
}

/*
 * Of the operations that a rank did not join, the first in the job: rank 0 has a later one, and is read
 * before.
 */
static void the_first_it_is_missing_from(void **state)
{
    check("rP|r!", "r", "rR!", "rP|r!", "missing 1 high 0 <2 ");
    check("rPg!", "r", "rR!", "rPg!", "missing 1 high 0 <2 ");
}

/* A rank that got past an operation shows that all members joined, whatever their records. */
static void who_only_lost_a_record(void **state)
{
    check("r|r", "r|r", "r|.r", "r|r", "");
    check("r|r!g", "r|r!g", "r|.rg", "r|r!g", "");
    check("b|b!", "b|.b|b", "b|b!", "b|b!", "");
}

/* The calls of ranks 1 and 2; what they do on their own communicator runs on a stream of its own. */
static void check_two_streams(const char *one, const char *two, const char *expected)
{
    struct played played;
    play(&played, (const char *const[RANKS]){"r|r", one, two, "r|r"});
    for (size_t i = 0; i < played.job.operation_count; i++)
        if (played.operations[i].communicator == 1)
            played.operations[i].previous = -1;
    check_found(&played, expected);
}

/*
 * A send without an end and without its receive, after which both ranks did more together, up to the end of
 * the job, whether or not that is recorded of rank 2. It is missing where one of them did not finish that, or
 * where nothing came after it.
 */
static void whose_last_receive_is_not_recorded(void **state)
{
    check_two_streams("r|s!R", "r|.vR", "");
    check_two_streams("r|s!R", "r|.vR!", "missing 2 high 1 <1 ");
    check_two_streams("r|s!R!", "r|.vR", "missing 2 high 1 <1 ");
    check_two_streams("r|s!R", "r|.v.R", "");
    check_two_streams("r|Rs!", "r|R.v", "missing 2 high 1 <1 ");
}

/*
 * The leaf of a tree records its stop, whichever rank is missing; a rank that finished a Broadcast waited for
 * no other.
 */
static void an_end_beside_others_that_never_came(void **state)
{
    check("r|r", "r|r!", "r", "r|r!", "missing 2 high 1 <013 ");
    check("r|r", "r|r", "r", "r|r", "");
    check("b|b", "b|b!", "b", "b|b!", "");
    check("r|rg", "r|r!", "r", "r|r!", "");
}

/*
 * Of kernels whose stop the plugin never sees, the last is not more likely to be pending than those before
 * it.
 */
static void ends_that_are_never_recorded(void **state)
{
    check("r!r!r!", "r!r!r!", "r!r!r!", "", "");
    check("r!r!r!", "rrr", "r!r!r!", "", "");
    check("r!gr!", "r!gr!", "r!gr!", "", "");
    check("r!gr!g!", "r!gr!g!", "r!gr!g!", "", "missing 3 medium 0 <012 ");
    check("r!r*r!", "r!r*r!", "r!r*r!", "", "");
    check("r!r!r*!", "r!r!r*!", "r!r!r*!", "", "missing 3 medium 0 <012 ");
    check("b!b!b!", "b!b!b!", "b!b!b!", "", "");
    /* The last of its kind decides, whatever the previous ones show. */
    check("rrr!r!", "rrr!r!", "rrr!r!", "", "");
    check("r!r!rr!", "r!r!rr!", "r!r!rr!", "", "missing 3 medium 0 <012 ");
    /* If the rank that stopped before it is known. */
    check("r!r!r!", "r!r!r!", "r!r!r!", "r!r!", "missing 3 high 0 <012 ");
}

static void who_left_no_trace(void **state)
{
    check("r!", "r!", "r!", "", "missing 3 medium 0 <012 ");
    check("r!", "r!", "", "", "missing 2/3 low 0 <01 ");
    /* The only one that can be in the other place. */
    check("rP!", "r", "r", "", "missing 3 medium 0 <0 ");
    check("rP!", "r", "", "", "");
    /* More ranks without a trace than with one: only a part of the job was kept. */
    check("r!", "", "", "", "");
    /* Another rank that stopped is enough to explain the rest. */
    check("rr!", "rr!", "r", "", "missing 2 high 0 <01 ");
}

/*
 * Others got past an operation of which a rank has no record: it did join, and it is unknown where it
 * stopped.
 */
static void whose_record_ends_before_the_others(void **state)
{
    check("r|r|r|r!", "r|r|r|r!", "r", "r|r|r|r!", "ended_early 2 high 3 <013 ");
    check("r|r|r|r!", "r|r|r", "r", "r|r|r|r!", "missing 1 high 3 <03 ");
    check("r|r|r|r!", "r", "r", "r|r|r|r!", "ended_early 1/2 low 3 <03 ");
    check("r|r|r|r!", "r|r|r|r!", "r", "", "missing 2/3 low 3 <01 ");
    /* It lost the file of the communicator; it has one of the other. */
    check("r|r|r!", "rR|rR|r!", "R|R", "r|r|r!", "ended_early 2 high 2 <013 ");
    /* Pending operations are not certain. */
    check("r!r!r!r!", "r!r!r!r!", "r!", "r!r!r!r!", "");
    /* Broadcasts end without all ranks: it may have stopped there. */
    check("b|b|b!", "b|b|b!", "b", "b|b|b!", "missing 2 high 2 <013 ");
}

/*
 * Rank 3's file of the communicator of all ranks has only the beginning, that of the one with rank 0 is
 * complete: it is absent from the first operation that it did not join, and the record of that communicator
 * counts, whichever is examined first.
 */
static void whether_the_first_it_is_missing_from_is_lost(void **state)
{
    check("r|rP!", "r|r|r!", "r|r|r!", "r", "missing 3 high 1 <0 ");
    check("r|r|r!", "r|rR!", "r", "r|r|r!", "missing 2 high 1 <1 ");
}

/* Operations without an end are over if the next one began: rank 3 only lost their records. */
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

/*
 * The confidence that ranks never joined if most traces stop like that; `seen_until`: the recorders were
 * active until then.
 */
static void check_cut(const char *two, enum cut most, int32_t last_step, int64_t seen_until,
                      const char *expected)
{
    struct played played;
    play(&played, (const char *const[]){"r|r!", "r", two, "r|r!"});
    played.job.common_cut = (uint8_t)most;
    played.operations[0].step = last_step;
    for (int i = 0; i < RANKS; i++)
        played.ranks[i].seen_until_ns = seen_until;
    check_found(&played, expected);
}

/* Each operation takes 1 ns, and all begin within 7 ns. */
enum { LONG = 1000 };

/*
 * A job that was killed while it hung has no ends either, but its recorders were active for longer than any
 * operation takes. Otherwise it may have been stopped while one rank was slightly late. Several ranks at
 * once, truncated files, or others that had continued for three steps prove nothing.
 */
static void where_most_traces_are_cut(void **state)
{
    check_cut("r|r!", CUT_NONE, 9, 0, "missing 1 high 1 <023 ");
    check_cut("r|r!", CUT_AT_END, 3, LONG, "missing 1 high 1 <023 ");
    check_cut("r|r!", CUT_AT_END, 3, 0, "missing 1 low 1 <023 ");
    check_cut("r|r!", CUT_AT_END, 4, LONG, "");
    check_cut("r|r!", CUT_IN_OPERATION, 1, LONG, "");
    check_cut("r", CUT_AT_END, 1, 0, "");
    check_cut("r", CUT_AT_END, 1, LONG, "missing 1 high 1 <03 missing 2 high 1 <03 ");
}

/*
 * Operations that a host enqueued many steps ahead, while its GPU waits, do not show that others had
 * continued.
 */
static void where_hosts_ran_ahead(void **state)
{
    struct played played;
    play(&played, (const char *const[]){"r|r!r~", "r", "r|r!", "r|r!"});
    played.job.common_cut = CUT_AT_END;
    played.operations[2].step = 9;
    for (int i = 0; i < RANKS; i++)
        played.ranks[i].seen_until_ns = LONG;
    check_found(&played, "missing 1 high 1 <023 ");
}

/* Rank 3's process is also `other`'s, and they cannot be distinguished. */
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
    /*
     * If no other rank is missing from an operation of all ranks, all others wait; one of most ranks is not
     * one of all.
     */
    check_parts((const char *const[]){"rr!", "rr!", "rr!", "r"}, 2, "missing 3 high 0 <012 ");
    check_parts((const char *const[]){"P", "RR!", "R", "PP!"}, 2, "missing 0 high 0 <3 missing 2 low 0 <1 ");
}

/* If all others wait for rank 3, it is not one of them. */
static void who_cannot_be_another_since_all_wait(void **state)
{
    check_parts((const char *const[]){"rr!", "rr!", "rr!", "r"}, 2, "missing 3 high 0 <012 ");
    check_parts((const char *const[]){"rr!", "r", "rr!", "r"}, 2,
                "missing 1 high 0 <02 missing 3 low 0 <02 ");
}

/* A rank of which nothing is recorded was not truncated. */
static void who_left_no_trace_where_most_are_cut(void **state)
{
    struct played played;
    play(&played, (const char *const[]){"r|r!", "r|r!", "r|r!", ""});
    played.job.common_cut = CUT_IN_OPERATION;
    check_found(&played, "missing 3 medium 1 <012 ");
}

/*
 * When the plugins last wrote for ranks: for 2 after that many seconds, for 1 after others, for all others
 * after 30.
 */
static void write_until(struct played *played, int64_t two_s, int64_t one_s, enum clock_method method)
{
    enum { SECOND = 1000000000 };
    played->job.common_cut = CUT_AT_END;
    for (int rank = 0; rank < RANKS; rank++) {
        played->ranks[rank].clock_method = method;
        played->ranks[rank].clock_scale = 1;
        played->ranks[rank].reports_after_pending = 1;
        played->ranks[rank].seen_until_ns = 30LL * SECOND;
    }
    played->ranks[1].seen_until_ns = one_s * SECOND;
    played->ranks[2].seen_until_ns = two_s * SECOND;
}

/*
 * A rank whose plugin stopped writing long before those of all waiting ranks died before they were stopped;
 * but not a rank that is as far behind only one of them, or that another recorder covers, or whose clock is
 * not linked to theirs.
 */
static void who_was_outlived(void **state)
{
    static const struct {
        const char *two;
        int64_t two_s, one_s;
        int reports_after_pending;
        enum clock_method method;
        const char *expected;
    } cases[] = {{"r", 1, 16, 1, CLOCK_SHARED, "ended_early 2 medium 3 <013 "},
                 {"r|r|r", 1, 16, 1, CLOCK_SHARED, "ended_early 2 high 3 <013 "},
                 {"r|r|r", 1, 15, 1, CLOCK_SHARED, "missing 2 high 3 <013 "},
                 {"r", 1, 15, 1, CLOCK_SHARED, ""},
                 {"r", 1, 16, 0, CLOCK_SHARED, ""},
                 {"r", 1, 16, 1, CLOCK_NONE, ""},
                 {"r", 1, 16, 1, CLOCK_CONTRADICTORY, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct played played;
        play(&played, (const char *const[]){"r|r|r|r!", "r|r|r|r!", cases[i].two, "r|r|r|r!"});
        write_until(&played, cases[i].two_s, cases[i].one_s, cases[i].method);
        played.ranks[2].reports_after_pending = cases[i].reports_after_pending;
        check_found(&played, cases[i].expected);
    }
}

/*
 * Two processes ended long before those of the waiting ranks: one died, and the other because it lost its
 * peer. The record of rank 2 lacks what others finished with it, and ends first.
 */
static void who_of_two_died(void **state)
{
    for (int is_anchored = 0; is_anchored < 2; is_anchored++) {
        struct findings findings;
        struct played played;
        play(&played, (const char *const[]){"r|r|r|r!", "r|r|r", "r", "r|r|r|r!"});
        write_until(&played, 20, 21, CLOCK_SHARED);
        /* Both last recorded their clock in the first second. */
        for (int rank = 1; rank <= 2 && is_anchored; rank++)
            played.ranks[rank].anchored_until_ns = 1000000000;
        find_played(&played, &findings);
        assert_int_equal(findings.count, is_anchored);
        for (size_t i = 0; i < findings.count; i++) {
            const struct finding *finding = &findings.items[i];
            assert_int_equal(finding->kind, FINDING_ENDED_EARLY);
            assert_int_equal(finding->confidence, CONFIDENCE_MEDIUM);
            assert_int_equal(finding->candidate_count, 2);
            assert_int_equal(finding->rank, 2);
        }
        findings_release(&findings);
    }
}

/*
 * A file that alone is truncated in the middle of an operation is weak evidence, and stronger if it ends long
 * before the others.
 */
static void by_how_long_it_was_outlived(void **state)
{
    for (int one_s = 15; one_s <= 16; one_s++) {
        struct findings findings;
        struct played played;
        play(&played, (const char *const[]){"r|r|r|r!", "r|r|r|r!", "r|r|r", "r|r|r|r!"});
        write_until(&played, 1, one_s, CLOCK_SHARED);
        played.ranks[2].cut = CUT_IN_OPERATION;
        find_played(&played, &findings);
        assert_int_equal(findings.count, 1);
        if (one_s == 15)
            assert_speaks(&findings.items[0].rule_results, RULE_OUTLIVED);
        else
            assert_quiet(&findings.items[0].rule_results, RULE_OUTLIVED);
        assert_int_equal(findings.items[0].confidence, one_s == 15 ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM);
        findings_release(&findings);
    }
}

/* The same for ranks of which not even that is recorded, alone or with one more. */
static void where_records_end_before_and_most_are_cut(void **state)
{
    static const struct {
        const char *one;
        enum cut most;
        const char *expected;
    } cases[] = {{"r|r|r|r!", CUT_NONE, "ended_early 2 high 3 <013 "},
                 {"r|r|r|r!", CUT_IN_OPERATION, ""},
                 {"r|r|r", CUT_NONE, "missing 1 high 3 <03 "},
                 {"r|r|r", CUT_AT_END, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct played played;
        play(&played, (const char *const[]){"r|r|r|r!", cases[i].one, "r", "r|r|r|r!"});
        played.job.common_cut = (uint8_t)cases[i].most;
        check_found(&played, cases[i].expected);
    }
}

/*
 * Some wait in one operation and some in another: the smaller side is at fault; of equal sides the one that
 * did not call it before.
 */
static void who_called_something_else(void **state)
{
    check("r|r!", "r|r!", "r|g!", "r|r!", "mismatch 2 high 1 <013 ");
    check("rg|rg|rg!", "rg|rg|rr!", "rg|rg|rg!", "rg|rg|rr!",
          "mismatch 1 medium 2 <02 mismatch 3 medium 2 <02 ");
    check("r!", "r!", "g!", "g!", "mismatch 0/1/2/3 low 0 < ");
    /* Rank 3 joined neither. */
    check("r|r!", "r|r!", "r|g!", "r", "missing 3 high 1 <01 ");
    /* Ranks 1 and 2 wait for each other, but not on one communicator. */
    check("r!", "R!", "r!", "r!", "");
}

/* Of two equal sides, if it is unknown what one did before, or neither called it before. */
static void who_called_something_else_by_habit(void **state)
{
    check("rg|rg|rg!", ".r.g|.r.g|rr!", "rg|rg|rg!", ".r.g|.r.g|rr!", "mismatch 1/3 low 2 <02 ");
    check("rg|rg|rb!", "rg|rg|rr!", "rg|rg|rb!", "rg|rg|rr!", "mismatch 0/1/2/3 low 2 < ");
}

/* Their hosts called everything; the GPU of one is busy with something else forever. */
static void who_never_began_what_its_host_called(void **state)
{
    check("rg|r!g~", "rg|r~g~", "rg|r!g~", "rg|r!g~", "missing 1 high 1 <023 ");
    /* Ranks 0 and 3 wait for 1 and 2, of which 2 waits for 1. */
    check("Pr|Pr!", "Rr|R~r~", "Rr|R!r~", "Pr|Pr!", "missing 1 high 1 <2 ");
    check("rr|r!", "rr|r~", "rr|r~", "rr|r!", "missing 1/2 low 1 <03 ");
    /* No rank waits; no rank's starts are known; no start of this kind is known to be recorded. */
    check("r|r~", "r|r~", "r|r~", "r|r~", "");
    check("r|r!", "r~|r~", "r|r!", "r|r!", "");
    check("r|g!", "r|g~", "r|g!", "r|g!", "");
    /* If the host explains the absence, that finding is enough. */
    check("rr|r!", "rr", "rr|r~", "rr|r!", "missing 1 high 1 <023 ");
}

/*
 * Rank 3 called P, which rank 0's host never did: its kernel of the AllReduce before waits, because the GPU
 * of rank 1 never started that.
 */
static void who_waits_on_its_gpu(void **state)
{
    const char *const calls[] = {"Prr|r!", "rr|r~", "rr|r!", "Prr|r!P~"};
    struct played played;
    play(&played, calls);
    check_found(&played, "missing 1 high 1 <023 ");
    /* For a start that is only inferred it is unknown. */
    play(&played, calls);
    played.operations[3].inferred = 1;
    check_found(&played, "missing 0 high 1 <3 ");
    /*
     * If all started, as far as starts are recorded, and none got past, all wait for something that is not
     * recorded; if one got past, all can.
     */
    check("Prr|r!", "rr|r!", "rr|r!", "Prr|r!P~", "");
    check("Prr|r!", "r~r|r~", "rr|r!", "Prr|r!P~", "");
    check("Prr|r!", "rr|r", "rr|r!", "Prr|r!P~", "missing 0 high 1 <3 ");
    /* A rank whose own GPU never started it does not wait either. */
    check("Prr|r~", "rr|r~", "rr|r!", "Prr|r!P~", "missing 0 high 1 <3 ");
}

static void traces_that_do_not_tell_who_never_began(void **state)
{
    const char *const calls[] = {"rr|r!", "rr|r~", "rr|r!", "rr|r!"};
    struct played played;
    play(&played, calls);
    played.job.common_cut = CUT_AT_END;
    check_found(&played, "");
    play(&played, calls);
    played.job.common_cut = CUT_AT_END;
    played.ranks[0].seen_until_ns = LONG;
    check_found(&played, "missing 1 low 1 <023 ");
    /* Its own recorder reported that the operation was pending, or nothing about it. */
    play(&played, calls);
    played.job.common_cut = CUT_AT_END;
    played.ranks[0].seen_until_ns = LONG;
    played.ranks[1].reports_after_pending = 1;
    check_found(&played, "missing 1 medium 1 <023 ");
    play(&played, calls);
    played.job.common_cut = CUT_AT_END;
    played.ranks[0].seen_until_ns = LONG;
    played.ranks[1].reports_after_pending = 1;
    played.operations[played.ranks[1].first + 2].unfinished = 0;
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

/* Unfinished operations are not listed, so absence from them proves nothing. */
static void where_only_finished_operations_are_listed(void **state)
{
    struct played played;
    play(&played, (const char *const[]){"r|r!", "r", "r|r!", "r|r!"});
    played.job.finished_only = 1;
    check_found(&played, "");
}

/* Of a send and its receive, the missing one. */
static void a_send_or_receive_alone(void **state)
{
    check("rs!", "r", "r", "r", "missing 1 high 0 <0 ");
    check("r", "rv!", "r", "r", "missing 0 high 0 <1 ");
    /*
     * Rank 1 waits for 0 and 0 for 1: nothing shows which one departed from the program, and it is no
     * mismatch.
     */
    check("rg!", "rv!", "rg!", "rg!", "");
    check("rs!", "rg!", "rg!", "rg!", "");
}

/* Rank 0 omitted its send, and waits in the next operation for the rank that waits for the send. */
static void who_departs_from_its_own_programme(void **state)
{
    check("sr|sr|r!", "vr|vr|v!", "r|r|r!", "r|r|r!", "mismatch 0 high 2 <1 ");
    check("r|r|r!", "sr|sr|s!", "vr|vr|r!", "r|r|r!", "mismatch 2 high 2 <1 ");
    /* Of two ranks that wait for each other on two communicators, the one that departed from its program. */
    check("r|r|r!", "Rr|Rr|R!", "Rr|Rr|r!", "r|r|r!", "mismatch 2 high 2 <1 ");
    /*
     * A call that finished, and its consequence: it may be by design, and is named only if nothing else is.
     */
    check("Pr|Pr|Pr!", "Rr|Rr|R!r~", "sRr|sRr|s!R~r~", "vPr|vPr|Pv!r~", "mismatch 3 medium 2 < ");
    /* An additional call that finished is no mistake. */
    check("r|r|r!", "Rr|Rr|R!", "Rr|Rr|bR!", "r|r|r!", "");
    /*
     * One earlier step is no program; and if the whole job does something new, no rank departs from anything.
     */
    check("sr|r!", "vr|v!", "r|r!", "r|r!", "");
    check("r|r|b!", "r|r|b!", "r|r|b!", "r|r|b!", "");
    check("r|r|rg!", "r|r|r", "r|r|rg!", "r|r|rg!", "missing 1 high 2 <023 ");
}

/* A rank with a call that no other rank has waits because of its own mistake: no rank is missing there. */
static void who_waits_for_its_own_mistake(void **state)
{
    check("r|r|r!", "r|r|s!", "r|r|r", "r|r|r!", "mismatch 1 high 2 <03 ");
}

/* Lost files of other ranks do not matter if the mistake is known. */
static void a_mistake_and_a_lost_file(void **state)
{
    check("rg|rg|rg!", "rg|rg|rr!", "rg|rg|rg!", "", "mismatch 1 high 2 <02 ");
    /* The only recorded rank of a pair: either may be at fault. */
    check("", "Rr|Rr|r!", "", "", "");
    check("r|r|r!", "r|r|r!", "r|r|g!", "", "mismatch 2 high 2 <01 ");
}

/* The only record is complete and ends in the middle of a step. */
static void who_left_in_the_middle_of_a_step(void **state)
{
    struct played played;
    const char *const calls[] = {"", "rgr|rgr|rg", "", ""};
    check("", "rgr|rgr|rg", "", "", "ended_early 1 medium 2 < ");
    check("", "rgr|rgr|rg!", "", "", "");
    check("", "rgr|rgr|rgr", "", "", "");
    /* Steps may begin elsewhere: the record begins inside one. */
    check("", "gr|rgr|rgr|rg", "", "", "");
    check("rgr|rgr|rg", "rgr|rgr|rg", "", "", "");
    play(&played, calls);
    played.job.common_cut = CUT_AT_END;
    check_found(&played, "");
    play(&played, calls);
    played.ranks[1].cut = CUT_AT_END;
    check_found(&played, "");
    play(&played, calls);
    played.job.finished_only = 1;
    check_found(&played, "");
}

/* Operations of this kind never had an end, so a missing end shows no missing rank. */
static void of_which_nothing_is_ever_seen(void **state)
{
    check("r~r~", "r~r~", "r~r~", "", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_never_came),
        cmocka_unit_test(who_departs_from_its_own_programme),
        cmocka_unit_test(who_waits_for_its_own_mistake),
        cmocka_unit_test(a_mistake_and_a_lost_file),
        cmocka_unit_test(who_left_in_the_middle_of_a_step),
        cmocka_unit_test(of_which_nothing_is_ever_seen),
        cmocka_unit_test(what_was_called_as_one),
        cmocka_unit_test(who_waits_elsewhere),
        cmocka_unit_test(the_first_it_is_missing_from),
        cmocka_unit_test(whose_last_receive_is_not_recorded),
        cmocka_unit_test(who_only_lost_a_record),
        cmocka_unit_test(an_end_beside_others_that_never_came),
        cmocka_unit_test(ends_that_are_never_recorded),
        cmocka_unit_test(who_left_no_trace),
        cmocka_unit_test(whose_record_ends_before_the_others),
        cmocka_unit_test(whether_the_first_it_is_missing_from_is_lost),
        cmocka_unit_test(what_others_went_on_from),
        cmocka_unit_test(whose_trace_is_cut),
        cmocka_unit_test(where_most_traces_are_cut),
        cmocka_unit_test(where_hosts_ran_ahead),
        cmocka_unit_test(who_may_wait_as_another),
        cmocka_unit_test(who_cannot_be_another_since_all_wait),
        cmocka_unit_test(who_left_no_trace_where_most_are_cut),
        cmocka_unit_test(who_was_outlived),
        cmocka_unit_test(who_of_two_died),
        cmocka_unit_test(by_how_long_it_was_outlived),
        cmocka_unit_test(where_records_end_before_and_most_are_cut),
        cmocka_unit_test(who_called_something_else),
        cmocka_unit_test(who_called_something_else_by_habit),
        cmocka_unit_test(who_never_began_what_its_host_called),
        cmocka_unit_test(who_waits_on_its_gpu),
        cmocka_unit_test(traces_that_do_not_tell_who_never_began),
        cmocka_unit_test(where_only_finished_operations_are_listed),
        cmocka_unit_test(a_send_or_receive_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
