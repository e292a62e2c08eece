#include "base/base.h"
#include "join/internal.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The loaded data as text. Communicators are separated by bars: the hash; after / the size, if recorded;
 * after ^ the highest rank to which data was sent; after = the name; after a colon the members, each a
 * process, by its letter, and its rank; after @ host clock minus GPU clock, if known.
 */
enum { PROCESSES = 6, COMMUNICATORS = 8, MEMBERS = 32, TEXT = 256 };

static const char *read_head(struct work_communicator *communicator, const char *text)
{
    char *end;
    *communicator = (struct work_communicator){.run = -1};
    communicator->hash = strtoll(text, &end, 16);
    if (*end == '/')
        communicator->declared_size = strtoll(end + 1, &end, 10);
    if (*end == '^')
        communicator->greatest_peer = strtoll(end + 1, &end, 10);
    if (*end == '=') {
        size_t length = strcspn(end + 1, ":");
        communicator->name = strndup(end + 1, length);
        end += 1 + length;
    }
    assert_int_equal(*end, ':');
    return end + 1;
}

static const char *read_member(struct work *work, const char *text)
{
    char *end;
    int32_t communicator = (int32_t)work->communicator_count - 1;
    struct work_member *member = &work->members[work->member_count++];
    assert_true(work->member_count <= MEMBERS);
    *member = (struct work_member){.communicator = communicator,
                                   .process = *text - 'A',
                                   .job_rank = -1,
                                   .declared_rank = -1,
                                   .affinity = INT64_MIN};
    member->rank = strtoll(text + 1, &end, 10);
    if (*end == '@')
        member->affinity = strtoll(end + 1, &end, 10);
    work->communicators[communicator].member_count++;
    return end;
}

/* The directory of each process is the letter of its number in `sets`. */
static void load(struct work *work, const char *text, const char *sets)
{
    *work = (struct work){.process_count = PROCESSES};
    work->processes = calloc(PROCESSES, sizeof *work->processes);
    work->communicators = calloc(COMMUNICATORS, sizeof *work->communicators);
    work->members = calloc(MEMBERS, sizeof *work->members);
    assert_true(work->processes && work->communicators && work->members);
    intern_init(&work->texts);
    for (int i = 0; i < PROCESSES; i++)
        work->processes[i] = (struct work_process){.id = i,
                                                   .file_set = strndup(sets + i, 1),
                                                   .host = strdup("h"),
                                                   .pid = i,
                                                   .declared_rank = -1,
                                                   .run = -1};
    while (*text)
        if (*text == ' ' || *text == '|')
            text++;
        else if (*text >= 'A' && *text <= 'F')
            text = read_member(work, text);
        else
            text = read_head(&work->communicators[work->communicator_count++], text);
}

static void find(struct work *work, const char *text, const char *sets)
{
    struct error error = ERROR_INIT;
    load(work, text, sets);
    assert_int_equal(work_find_ranks(work, &error), 0);
}

/* The names of all members' ranks, with a bar between communicators. */
static void write_names(const struct work *work, char *text)
{
    *text = '\0';
    for (size_t i = 0; i < work->member_count; i++) {
        const struct work_member *member = &work->members[i];
        int is_first = i && member->communicator != member[-1].communicator;
        size_t length = strlen(text);
        snprintf(text + length, TEXT - length, "%s%s%s", is_first ? " |" : "", i ? " " : "",
                 work->ranks[member->job_rank].name);
    }
}

/* The ranks, and the expected number of ranks. */
static void assert_found(const char *text, const char *names, int64_t expected_ranks)
{
    struct work work;
    char found[TEXT];
    find(&work, text, "aaaaaa");
    write_names(&work, found);
    assert_string_equal(found, names);
    assert_int_equal(work.runs[0].expected_ranks, expected_ranks);
    work_release(&work);
}

/* The communicator that contains every rank; of several the largest, and then that with the lower hash. */
static void who_gives_global_ranks(void **state)
{
    assert_found("1: A0 B1 | 2: A2 B1 C0", "2 1 | 2 1 0", 3);
    assert_found("5: A0 B1 | 3: A1 B0", "1 0 | 1 0", 2);
    assert_found("3: A1 B0 | 5: A0 B1", "1 0 | 1 0", 2);
    assert_found("3/2: A0 B1 | 5/3: A1 B0", "1 0 | 1 0", 3);
    /*
     * Files with an unknown hash do not matter; nor do those that remain if another communicator is larger.
     */
    assert_found("0: A0 B1", "h:0 h:1", 2);
    assert_found("1: A0 B1 | 2: B4", "h:0 h:1 | h:1", 2);
    assert_found("1: A0 B1 | 0: B4", "0 1 | 1", 2);
    /* Nor does a communicator without files. */
    assert_found("1: A0 B1 | 7:", "0 1", 2);
}

/*
 * Its file may be lost if the numbers leave one free place for it; with two such ranks, either could be in
 * the other one.
 */
static void one_without_its_file(void **state)
{
    assert_found("1/3: A0 B2 | 2: B0 C1", "0 2 | 2 1", 3);
    assert_found("1/4: A0 B2 | 2: B0 C1", "h:0 h:1 | h:1 h:2", 3);
    assert_found("1/4: A0 B2 | 2: B0 C1 | 3: C0 D1", "h:0 h:1 | h:1 h:2 | h:2 h:3", 4);
    assert_found("1/2: A1 | 2/2: A0 B1", "0 | 0 1", 2);
    /* A number outside the size leaves its rank over. */
    assert_found("1/2: A0 B5", "0 1", 2);
}

/* As recorded; else the highest rank of a member or of a destination. */
static void how_many_are_in_one(void **state)
{
    static const struct {
        const char *text;
        int64_t size;
    } cases[] = {{"1: A0 B1", 2}, {"1: A0 B3", 4}, {"1^4: A0 B1", 5}, {"1^4: A0 B6", 7}, {"1/3^4: A0 B1", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct work work;
        find(&work, cases[i].text, "aaaaaa");
        assert_int_equal(work.communicators[0].size, cases[i].size);
        assert_int_equal(work.runs[0].expected_ranks, cases[i].size);
        work_release(&work);
    }
}

/*
 * Processes that share a communicator, also through others; without hashes, those that wrote to one
 * directory.
 */
static void who_is_of_one_job(void **state)
{
    static const struct {
        const char *text, *sets;
        int with_a[2]; /* B, C */
    } cases[] = {{"1: A0 B1 | 2: B0 C1 | 3: D0", "aaaaaa", {1, 1}},
                 {"1: A0 | 2: B1 C0 | 3: D0", "aaaaaa", {0, 0}},
                 {"0: A0 | 0: B1 | 0: C2", "aabbbb", {1, 0}},
                 {"0: A0 | 0: B1 | 4: C2", "aaaaaa", {1, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct work work;
        find(&work, cases[i].text, cases[i].sets);
        for (int other = 1; other <= 2; other++)
            assert_int_equal(work.processes[other].run == work.processes[0].run, cases[i].with_a[other - 1]);
        work_release(&work);
    }
}

/*
 * A process that occurs several times in one is as many ranks; not if no hash shows that it is one
 * communicator.
 */
static void several_ranks_of_a_process(void **state)
{
    assert_found("1: A0 A1 B2", "0 1 2", 3);
    /* The same numbers in a duplicate of the world, which no clock distinguishes. */
    assert_found("1: A0 A1 B2 | 2: A0 A1 B2", "0 1 2 | 0 1 2", 3);
    assert_found("0: A0 A1 B2", "h:0 h:0 h:1", 2);
    /* Nor does the shape of a job whose world is lost; each that differs counts as another rank. */
    assert_found("1: A0 A1 B2 | 2: A0 A1 B2 | 3: B7", "h:0 h:0 h:1 | h:0 h:0 h:1 | h:1", 3);
    assert_found("1: A0 A1 B2 | 2: A1 B0 | 3: B7", "h:0 h:0 h:1 | h:0 h:1 | h:1", 4);
}

/*
 * If it is unknown which rank each member is, numbers identify no rank: the next communicator of their kind
 * does.
 */
static void a_world_of_which_no_clock_tells(void **state)
{
    assert_found("2: A0@100 A1@200 | 1: A0 A1", "0 1 | 0 1", 2);
    assert_found("2: A1@100 A0@200 | 1: A0 A1", "1 0 | 0 1", 2);
    assert_found("2: A0@100 A1@200 | 1: A0@100 A1", "0 1 | 0 1", 2);
}

/*
 * One that could be any of several is joined with none of them, nor are two of a communicator that would be
 * one.
 */
static void members_that_could_be_anybodys(void **state)
{
    assert_found("1: A0@100 A1@200 A2@900 A3@2000 | 2: A0@100 A1@200 | 3: A0@900 A1@2000 | 4: A0 A1",
                 "0 1 2 3 | 0 1 | 2 3 | h:0 h:0", 4);
    assert_found("4: A0 A1 | 3: A0@900 A1@2000 | 2: A0@100 A1@200 | 1: A0@100 A1@200 A2@900 A3@2000",
                 "h:0 h:0 | 2 3 | 0 1 | 0 1 2 3", 4);
    assert_found("1: A0@100 A1@200 B2 | 2: A0@200 B1 | 3: B0 A1@200 | 4: A0 A1",
                 "0 1 2 | 1 2 | 2 1 | h:0 h:0", 3);
}

/*
 * All seen ranks are in the world, whose size is not recorded: a free place elsewhere is that of a rank
 * beyond it, because a communicator of one rank has no operations.
 */
static void ranks_of_which_there_is_nothing(void **state)
{
    assert_found("1: A0 B1 C2 | 2: A0 B1 | 3: C0", "0 1 2 | 0 1 | 2", 4);
    assert_found("1: A0 B1 C2 | 2: A0 B1 | 3/1: C0", "0 1 2 | 0 1 | 2", 3);
    assert_found("1/3: A0 B1 C2 | 2: A0 B1 | 3: C0", "0 1 2 | 0 1 | 2", 3);
    assert_found("1: A0 B1 C2 | 2: A0 B1 | 0: C0", "0 1 2 | 0 1 | 2", 3);
    assert_found("1: A0 B1 C2 | 2: A0 B1 | 0^9: C0", "0 1 2 | 0 1 | 2", 3);
    assert_found("1: A0 B1 C2 D3 | 2: A0 B1 | 3: C0 | 4: D0", "0 1 2 3 | 0 1 | 2 | 3", 6);
    /* If none has a free place, the world need not be a multiple of them. */
    assert_found("1: A0 B1 C2 | 2: A0 B1", "0 1 2 | 0 1", 3);
    /* One of four has, and four divide a world of eight. */
    assert_found("1: A0 B1 C2 D3 E4 | 2: A0 B1 C2 D3 | 3^3: E0", "0 1 2 3 4 | 0 1 2 3 | 4", 8);
    assert_found("1: A0 B1 C2 D3 E4 | 2: A0 B1 C2 D3 | 3: E3", "0 1 2 3 4 | 0 1 2 3 | 4", 8);
    /* Rank 3 is in fewer than the others: its file is lost, and no other rank is missing. */
    assert_found("1: A0 B1 C2 D3 | 2: A0 B1 | 3^1: C0", "0 1 2 3 | 0 1 | 2", 4);
}

/*
 * Rank 3 is the first of its two, and the ranks of a communicator ascend: the other one is 4, whatever gaps
 * there are.
 */
static void ranks_above_a_last_member(void **state)
{
    assert_found("1: A0 B3 | 2^1: A0 | 3^1: B0", "0 3 | 0 | 3", 5);
    assert_found("1: A0 B3 | 2^1: A0 | 3: B1", "0 3 | 0 | 3", 4);
    assert_found("1/4: A0 B3 | 2^1: A0 | 3^1: B0", "0 3 | 0 | 3", 4);
    /* Of two members the second is the last. */
    assert_found("1: A0 B3 C5 | 2^2: B0 C1", "0 3 5 | 3 5", 7);
    assert_found("1: A0 B3 C5 | 2^2: C1 B0", "0 3 5 | 5 3", 7);
}

/* For a claimed size of which only two ranks have records, at most 1024 more are named. */
static void ranks_that_are_only_claimed(void **state)
{
    static const struct {
        const char *text;
        int64_t size;
        size_t ranks;
    } cases[] = {{"1/3: A0 B1", 3, 3},
                 {"1/1026: A0 B1", 1026, 1026},
                 {"1/1027: A0 B1", 1027, 2},
                 {"1/9223372036854775807: A0 B1", INT64_MAX, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct work work;
        find(&work, cases[i].text, "aaaaaa");
        assert_int_equal(work.rank_count, cases[i].ranks);
        assert_int_equal(work.runs[0].expected_ranks, cases[i].size);
        work_release(&work);
    }
}

/* Its name; else its ranks, or its hash if they have no numbers; the second one of a name by its hash. */
static void what_they_are_called(void **state)
{
    static const struct {
        const char *text, *labels[3];
    } cases[] = {{"1: A0 B1 C2 D3 | 2: A0 B1 D2 | 3/1: C0", {"0-3", "0-1,3", "2"}},
                 {"1=dp: A0 B1 | 9=unknown: A0 B1 | 2=: A0 B1", {"dp", "0-1#2", "0-1"}},
                 {"ab: A0 B1 | 2=x: B4 | 3=x: A0", {"ab", "x", "x#2"}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct work work;
        find(&work, cases[i].text, "aaaaaa");
        for (size_t j = 0; j < 3; j++)
            assert_string_equal(work.communicators[j].label, cases[i].labels[j]);
        work_release(&work);
    }
}

/* For the members of process A, the ranks that clocks identify, or dots; bars between communicators. */
static void assert_split(const char *text, const char *expected)
{
    struct work work;
    struct error error = ERROR_INIT;
    char found[TEXT] = "";
    load(&work, text, "aaaaaa");
    assert_int_equal(work_group_members(&work, &error), 0);
    assert_int_equal(work_split_process(&work, 0), 0);
    for (size_t i = 0, length = 0; i < work.member_count; i++) {
        const struct work_member *member = &work.members[i];
        if (i && member->communicator != member[-1].communicator)
            found[length++] = '|';
        found[length++] = (char)(member->job_rank < 0 ? '.' : '0' + member->job_rank);
    }
    assert_string_equal(found, expected);
    work_release(&work);
}

/* The members of the communicator with the most members are one rank each; of several the largest. */
static void whose_members_are_the_ranks(void **state)
{
    assert_split("1: A0@100 A1@200 A2@900", "012");
    assert_split("1: A0@100 A1@200 | 2: A0@200 A1@100 A2@900", "10|012");
    assert_split("2: A0@200 A1@100 A2@900 | 1: A0@100 A1@200", "012|10");
    assert_split("1: A0@100 A1@200 | 2: A0@200 A1@100 B2", "10|01.");
    assert_split("2: A0@200 A1@100 B2 | 1: A0@100 A1@200", "01.|10");
    assert_split("1: A0@100 A1@200 | 2: A0@200 B1 C2", "01|1..");
}

/* Every other member belongs to the rank whose value is clearly nearest and that is not there already. */
static void which_rank_is_nearest(void **state)
{
    static const struct {
        const char *members, *expected;
    } cases[] = {
        {"A0@205 A1@890", "12"}, {"A0@70", "0"},  {"A0@2100", "4"}, {"A0@901 A1@1499 A2@99", "230"},
        {"A0@124", "0"},         {"A0@127", "."}, {"A0@174", "."},  {"A0@177", "1"},
        {"A0@101 A1@99", "0."},  {"A0", "."},     {"B0@100", "."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[TEXT], expected[TEXT];
        snprintf(text, sizeof text, "1: A0@100 A1@200 A2@900 A3@1500 A4@2000 | 2: %s", cases[i].members);
        snprintf(expected, sizeof expected, "01234|%s", cases[i].expected);
        assert_split(text, expected);
    }
    /* In any order. */
    assert_split(
        "1: A0@2000 A1@100 A2@1500 A3@200 A4@900 A5@-700 A6@-100 | 2: A0@-99 A1@-699 A2@901 A3@2001 A4@99",
        "0123456|65401");
    /* If one of them has no value, or two have the same, none is nearest. */
    assert_split("1: A0@100 A1 A2@900 | 2: A0@100 A1@900", "012|..");
    assert_split("1: A0@100 A1@100 A2@900 | 2: A0@100 A1@900", "012|.2");
}

static void assert_labels(const char *text, const char *sets, const char *expected)
{
    struct work work;
    char found[TEXT] = "";
    find(&work, text, sets);
    for (size_t i = 0; i < work.communicator_count; i++) {
        size_t length = strlen(found);
        snprintf(found + length, TEXT - length, "%s%s", i ? " " : "", work.communicators[i].label);
    }
    assert_string_equal(found, expected);
    work_release(&work);
}

/* If hashes do not distinguish them, their members do: host, process and rank, in any order of reading. */
static void which_of_a_label_is_the_first(void **state)
{
    assert_labels("0: A0 | 0: B0 | 0: C0", "aaaaaa", "0 0#2 0#3");
    assert_labels("0: C0 | 0: A0 | 0: B0", "aaaaaa", "0#3 0 0#2");
    assert_labels("0: A1 | 0: A0", "aaaaaa", "0#2 0");
    assert_labels("0: B5 A1 | 0: B0 A0", "aaaaaa", "0#2 0");
}

/* The files of a directory without hashes are one job, whatever was read between them. */
static void who_is_of_one_directory(void **state)
{
    static const char *const texts[] = {"0: A0 | 0: B0 | 0: C0 | 0: D0", "0: A0 | 0: C0 | 0: D0 | 0: B0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct work work;
        find(&work, texts[i], "ababab");
        assert_int_equal(work.processes[0].run, work.processes[2].run);
        assert_int_equal(work.processes[1].run, work.processes[3].run);
        assert_int_not_equal(work.processes[0].run, work.processes[1].run);
        work_release(&work);
    }
}

/* By the files that contain them, not by the order of reading. */
static void how_jobs_are_numbered(void **state)
{
    struct work work;
    struct error error = ERROR_INIT;
    load(&work, "1: A0 B1 | 2: C0 D1 | 3: E0 F1", "aaaaaa");
    const int64_t files[PROCESSES] = {9, 5, 7, 8, 2, 11};
    for (int i = 0; i < PROCESSES; i++)
        work.processes[i].first_file = files[i];
    assert_int_equal(work_find_ranks(&work, &error), 0);
    assert_int_equal(work.processes[4].run, 0);
    assert_int_equal(work.processes[0].run, 1);
    assert_int_equal(work.processes[2].run, 2);
    work_release(&work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_gives_global_ranks),        cmocka_unit_test(one_without_its_file),
        cmocka_unit_test(how_many_are_in_one),           cmocka_unit_test(who_is_of_one_job),
        cmocka_unit_test(several_ranks_of_a_process),    cmocka_unit_test(ranks_of_which_there_is_nothing),
        cmocka_unit_test(ranks_above_a_last_member),     cmocka_unit_test(ranks_that_are_only_claimed),
        cmocka_unit_test(what_they_are_called),          cmocka_unit_test(whose_members_are_the_ranks),
        cmocka_unit_test(which_rank_is_nearest),         cmocka_unit_test(members_that_could_be_anybodys),
        cmocka_unit_test(which_of_a_label_is_the_first), cmocka_unit_test(who_is_of_one_directory),
        cmocka_unit_test(how_jobs_are_numbered),         cmocka_unit_test(a_world_of_which_no_clock_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
