#include "support/cmocka_all.h"
#include "support/node_lines.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

/* Times are in ticks of 10 ms. */
static void a_process_in(const struct node_lines *lines, char state, int pid, const char *name, int parent,
                         int session, int ticks, int threads, int start)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "proc/%d/stat", pid);
    snprintf(text, sizeof text, "%d (%s) %c %d %d %d 0 -1 4194560 1 2 3 4 %d 0 0 0 20 0 %d 0 %d 1000 200\n",
             pid, name, state, parent, session, session, ticks, threads, start);
    node_lines_file(lines, path, text);
}

static void a_process(const struct node_lines *lines, int pid, const char *name, int parent, int session,
                      int ticks, int threads, int start)
{
    a_process_in(lines, 'S', pid, name, parent, session, ticks, threads, start);
}

static void a_thread(const struct node_lines *lines, int pid, int tid, const char *name, long run_ms,
                     long wait_ms, int switches)
{
    char path[96], text[128];
    snprintf(path, sizeof path, "proc/%d/task/%d/schedstat", pid, tid);
    snprintf(text, sizeof text, "%ld000000 %ld000000 9\n", run_ms, wait_ms);
    node_lines_file(lines, path, text);
    snprintf(path, sizeof path, "proc/%d/task/%d/comm", pid, tid);
    snprintf(text, sizeof text, "%s\n", name);
    node_lines_file(lines, path, text);
    snprintf(path, sizeof path, "proc/%d/task/%d/status", pid, tid);
    snprintf(text, sizeof text, "Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t%d\n",
             switches);
    node_lines_file(lines, path, text);
}

static void sample(struct node_lines *lines, struct node_tasks *tasks, int64_t elapsed_ns)
{
    node_lines_next(lines);
    node_tasks_sample(tasks, &lines->files, &lines->writer, elapsed_ns);
    node_lines_finish(lines);
}

/*
 * The command is 100, its worker 300 and a process with a lower number 50 are the job's; 200 is another
 * user's. The worker's proxy thread runs for 500 ms of a second and waits for a core for 410 ms.
 */
static void the_jobs_processes_and_threads(void **state)
{
    struct node_lines lines;
    struct node_tasks tasks;
    const struct node_root root = {100, 7};
    node_lines_begin(&lines);
    node_tasks_init(&tasks, &lines.files);
    assert_true(tasks.has_schedule);
    a_process(&lines, 100, "torchrun", 1, 100, 5, 1, 7);
    a_thread(&lines, 100, 100, "torchrun", 10, 0, 0);
    a_process(&lines, 300, "pt (main) 1", 100, 300, 100, 2, 9);
    a_thread(&lines, 300, 300, "python3", 500, 5, 0);
    a_thread(&lines, 300, 301, "NCCL Progress 0", 500, 100, 3);
    a_process(&lines, 50, "helper", 300, 300, 100, 1, 10);
    a_process(&lines, 200, "other", 1, 200, 100, 1, 7);
    a_process(&lines, 210, "srun's", 1, 210, 100, 1, 7);
    node_lines_file(&lines, "proc/210/environ", "NCCLPROF_DIR=/traces");
    snprintf(tasks.mark, sizeof tasks.mark, "NCCLPROF_DIR=/traces");
    assert_int_equal(node_tasks_scan(&tasks, &lines.files, &lines.writer, &root, 1), 0);
    sample(&lines, &tasks, SECOND_NS);
    node_lines_next(&lines);
    node_tasks_sample_slow(&tasks, &lines.files, &lines.writer, SECOND_NS);
    node_lines_finish(&lines);
    a_process(&lines, 300, "pt (main) 1", 100, 300, 190, 2, 9);
    a_process(&lines, 50, "helper", 300, 300, 150, 1, 10);
    a_process(&lines, 200, "other", 1, 200, 200, 1, 7);
    a_process(&lines, 210, "srun's", 1, 210, 160, 1, 7);
    a_thread(&lines, 300, 300, "python3", 500, 5, 0);
    a_thread(&lines, 300, 301, "NCCL Progress 0", 1000, 510, 63);
    sample(&lines, &tasks, SECOND_NS);
    node_lines_next(&lines);
    node_tasks_sample_slow(&tasks, &lines.files, &lines.writer, 10 * SECOND_NS);
    node_lines_finish(&lines);
    a_thread(&lines, 300, 301, "NCCL Progress 0", 1000, 510, 163);
    node_lines_next(&lines);
    node_tasks_sample_slow(&tasks, &lines.files, &lines.writer, 10 * SECOND_NS);
    node_lines_finish(&lines);
    assert_true(node_lines_value(&lines, "[\"process\",\"300\",\"cpu_share\"]") == 0.9);
    assert_true(node_lines_value(&lines, "[\"process\",\"50\",\"cpu_share\"]") == 0.5);
    assert_true(node_lines_value(&lines, "[\"process\",\"210\",\"cpu_share\"]") == 0.6);
    assert_true(node_lines_value(&lines, "[\"thread\",\"300/301 NCCL Progress 0\",\"cpu_share\"]") == 0.5);
    assert_true(node_lines_value(&lines, "[\"thread\",\"300/301 NCCL Progress 0\",\"run_wait_share\"]") ==
                0.41);
    assert_true(node_lines_value(&lines, "[\"process\",\"300\",\"run_wait_share\"]") == 0.41);
    assert_true(
        node_lines_value(&lines, "[\"thread\",\"300/301 NCCL Progress 0\",\"involuntary_switches\"]") == 100);
    assert_null(strstr(lines.text.data, "300/300")); /* it neither ran nor waited */
    assert_null(strstr(lines.text.data, "\"200\""));
    node_tasks_release(&tasks);
    node_lines_end(&lines);
}

/* Of a process that is stopped, that waits in the kernel, that a debugger holds, and that runs. */
static void the_state_of_a_process(void **state)
{
    static const struct {
        char state;
        double stopped, blocked;
    } looks[] = {{'R', 0, 0}, {'T', 1, 0}, {'D', 0, 1}, {'t', 1, 0}, {'S', 0, 0}};
    struct node_lines lines;
    struct node_tasks tasks;
    const struct node_root root = {100, 7};
    (void)state;
    node_lines_begin(&lines);
    node_tasks_init(&tasks, &lines.files);
    a_process(&lines, 100, "train) T 1", 1, 100, 5, 1, 7);
    assert_int_equal(node_tasks_scan(&tasks, &lines.files, &lines.writer, &root, 1), 0);
    sample(&lines, &tasks, SECOND_NS);
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        a_process_in(&lines, looks[i].state, 100, "train) T 1", 1, 100, 55, 1, 7);
        sample(&lines, &tasks, SECOND_NS);
        assert_true(node_lines_value(&lines, "[\"process\",\"100\",\"stopped_share\"]") == looks[i].stopped);
        assert_true(node_lines_value(&lines, "[\"process\",\"100\",\"blocked_share\"]") == looks[i].blocked);
    }
    /* A process that was killed and ends waits in the kernel, but not for a disk. */
    static const char *const flags[] = {"4194564", "4194816", "4195584", "4194304"};
    for (size_t i = 0; i < 4; i++) {
        char text[128];
        snprintf(text, sizeof text, "100 (train) D 1 100 100 0 -1 %s 1 2 3 4 55 0 0 0 20 0 1 0 7 1000 200\n",
                 flags[i]);
        node_lines_file(&lines, "proc/100/stat", text);
        sample(&lines, &tasks, SECOND_NS);
        assert_true(node_lines_value(&lines, "[\"process\",\"100\",\"blocked_share\"]") == (i == 3));
    }
    node_tasks_release(&tasks);
    node_lines_end(&lines);
}

/* Looks at process 100 after a second in which it used as many ticks of 10 ms. */
static void look(struct node_lines *lines, struct node_tasks *tasks, char state, int ticks, double frozen,
                 double blocked)
{
    static int sum = 100;
    sum += ticks;
    a_process_in(lines, state, 100, "train", 1, 100, sum, 1, 7);
    sample(lines, tasks, SECOND_NS);
    assert_true(node_lines_value(lines, "[\"process\",\"100\",\"frozen_share\"]") == frozen);
    assert_true(node_lines_value(lines, "[\"process\",\"100\",\"blocked_share\"]") == blocked);
}

static void own_wait(const struct node_lines *lines, int64_t wait_ms)
{
    char text[64];
    snprintf(text, sizeof text, "1 %lld000000 9\n", (long long)wait_ms);
    node_lines_file(lines, "proc/self/schedstat", text);
}

/* By what the group's file says; and by how long the sampler, which is in the same group, stood still. */
static void a_frozen_group(void **state)
{
    struct node_lines lines;
    struct node_tasks tasks;
    const struct node_root root = {100, 7};
    (void)state;
    node_lines_begin(&lines);
    node_lines_file(&lines, "proc/100/cgroup", "6:freezer:/job\n0::/\n");
    node_lines_file(&lines, "proc/self/cgroup", "6:freezer:/job\n0::/\n");
    node_lines_file(&lines, "sys/fs/cgroup/freezer/job/freezer.state", "THAWED\n");
    own_wait(&lines, 50);
    node_tasks_init(&tasks, &lines.files);
    a_process(&lines, 100, "train", 1, 100, 0, 1, 7);
    assert_int_equal(node_tasks_scan(&tasks, &lines.files, &lines.writer, &root, 1), 0);
    sample(&lines, &tasks, SECOND_NS);
    node_tasks_wake(&tasks, &lines.files, 0);
    look(&lines, &tasks, 'S', 100, 0, 0);
    node_lines_file(&lines, "sys/fs/cgroup/freezer/job/freezer.state", "FROZEN\n");
    node_tasks_wake(&tasks, &lines.files, 0);
    look(&lines, &tasks, 'D', 0, 1, 0);
    node_lines_file(&lines, "sys/fs/cgroup/freezer/job/freezer.state", "THAWED\n");
    node_tasks_wake(&tasks, &lines.files, 0);
    look(&lines, &tasks, 'D', 90, 0, 1);
    node_tasks_wake(&tasks, &lines.files, 800000000); /* the sampler slept 800 ms longer than it wanted to */
    look(&lines, &tasks, 'S', 18, 0.8, 0);
    node_tasks_wake(&tasks, &lines.files, 0);
    look(&lines, &tasks, 'S', 90, 0, 0);
    node_tasks_wake(&tasks, &lines.files, 800000000);
    look(&lines, &tasks, 'S', 90, 0, 0); /* the process went on: only the sampler stood still */
    own_wait(&lines, 750);
    node_tasks_wake(&tasks, &lines.files, 800000000);
    look(&lines, &tasks, 'S', 90, 0, 0); /* the sampler waited for a core */
    node_tasks_wake(&tasks, &lines.files, 800000000);
    look(&lines, &tasks, 'S', 18, 0.8, 0);
    node_lines_file(&lines, "proc/100/cgroup", "6:freezer:/\n0::/new\n"); /* it is moved */
    node_lines_next(&lines);
    node_tasks_sample_slow(&tasks, &lines.files, &lines.writer, SECOND_NS);
    node_lines_finish(&lines);
    node_tasks_wake(&tasks, &lines.files, 800000000);
    look(&lines, &tasks, 'S', 18, 0, 0);
    node_tasks_release(&tasks);
    node_lines_end(&lines);
}

static void a_frozen_group_of_v2(void **state)
{
    struct node_lines lines;
    struct node_freezer freezer = {.is_read = 0};
    char path[NODE_FREEZER_BYTES];
    (void)state;
    node_lines_begin(&lines);
    node_freezer_find(&lines.files, "7", path);
    assert_string_equal(path, "");
    node_lines_file(&lines, "proc/7/cgroup", "0::/pod/job\n");
    node_freezer_find(&lines.files, "7", path);
    assert_string_equal(path, "");
    node_lines_file(&lines, "sys/fs/cgroup/pod/job/cgroup.events", "populated 1\nfrozen 1\n");
    node_freezer_find(&lines.files, "7", path);
    assert_string_equal(path, "fs/cgroup/pod/job/cgroup.events");
    assert_int_equal(node_freezer_look(&freezer, &lines.files, path), 1);
    node_lines_file(&lines, "sys/fs/cgroup/pod/job/cgroup.events", "populated 1\nfrozen 0\n");
    assert_int_equal(node_freezer_look(&freezer, &lines.files, path), 1); /* as it was read */
    freezer.is_read = 0;
    assert_int_equal(node_freezer_look(&freezer, &lines.files, path), 0);
    node_lines_end(&lines);
}

/* The same number with another start is another process. */
static void a_number_that_is_used_again(void **state)
{
    struct node_lines lines;
    struct node_tasks tasks;
    const struct node_root root = {100, 7};
    node_lines_begin(&lines);
    node_tasks_init(&tasks, &lines.files);
    a_process(&lines, 100, "train", 1, 100, 5, 1, 7);
    assert_int_equal(node_tasks_scan(&tasks, &lines.files, &lines.writer, &root, 1), 0);
    sample(&lines, &tasks, SECOND_NS);
    a_process(&lines, 100, "train", 1, 100, 55, 1, 7);
    sample(&lines, &tasks, SECOND_NS);
    assert_true(node_lines_value(&lines, "[\"process\",\"100\",\"cpu_share\"]") == 0.5);
    a_process(&lines, 100, "editor", 1, 100, 99, 1, 8000);
    sample(&lines, &tasks, SECOND_NS);
    assert_non_null(strstr(lines.text.data, "\"gone\":[\"1\""));
    assert_int_equal(node_tasks_scan(&tasks, &lines.files, &lines.writer, &root, 1), 0);
    buffer_clear(&lines.text);
    a_process(&lines, 100, "editor", 1, 100, 199, 1, 8000);
    sample(&lines, &tasks, SECOND_NS);
    assert_null(strstr(lines.text.data, "\"100\""));
    node_tasks_release(&tasks);
    node_lines_end(&lines);
}

/* Descendants of the command, and processes that have the variable that `record` sets for the job. */
static void what_is_of_the_job(void **state)
{
    static const char mark[] = "NCCLPROF_DIR=/traces";
    struct node_lines lines;
    const struct node_root root = {100, 7};
    node_lines_begin(&lines);
    a_process(&lines, 100, "train", 1, 100, 5, 1, 7);
    a_process(&lines, 300, "worker", 100, 300, 5, 1, 9);
    a_process(&lines, 310, "srun's", 1, 310, 5, 1, 9);
    node_lines_file(&lines, "proc/310/environ", "NCCLPROF_DIR=/traces");
    a_process(&lines, 400, "other", 1, 400, 5, 1, 9);
    node_lines_file(&lines, "proc/400/environ", "NCCLPROF_DIR=/traces2");
    a_process(&lines, 410, "hidden", 1, 410, 5, 1, 9);
    a_process(&lines, 420, "earlier", 1, 420, 5, 1, 6);
    node_lines_file(&lines, "proc/420/environ", "NCCLPROF_DIR=/traces");
    assert_int_equal(node_is_of_job(&lines.files, 300, &root, 1, mark), 1);
    assert_int_equal(node_is_of_job(&lines.files, 310, &root, 1, mark), 1);
    assert_int_equal(node_is_of_job(&lines.files, 400, &root, 1, mark), 0);
    assert_int_equal(node_is_of_job(&lines.files, 400, &root, 1, ""), 0);
    assert_int_equal(node_is_of_job(&lines.files, 410, &root, 1, mark),
                     -1); /* its environment cannot be read */
    assert_int_equal(node_is_of_job(&lines.files, 420, &root, 1, mark), 0);
    assert_int_equal(node_is_of_job(&lines.files, 999, &root, 1, mark), -1);
    node_lines_end(&lines);
}

/* Of two samplers for one directory the first writes, and hears which process the other watches. */
static void one_of_several_samplers_writes(void **state)
{
    struct node_lines lines;
    struct node_peers first, second, third;
    node_lines_begin(&lines);
    assert_int_equal(node_peers_join(&first, lines.root, (struct node_root){10, 1}), 1);
    assert_int_equal(node_peers_join(&second, lines.root, (struct node_root){20, 2}), 0);
    for (int i = 0; i < 100 && (first.count == 0 || first.peers[0].root.pid == 0); i++) {
        node_peers_hear(&first);
        usleep(1000);
    }
    assert_int_equal(first.count, 1);
    assert_int_equal(first.peers[0].root.pid, 20);
    assert_int_equal(first.peers[0].root.start, 2);
    node_peers_leave(&second);
    assert_int_equal(node_peers_hear(&first), 1);
    assert_int_equal(first.count, 0);
    node_peers_leave(&first);
    assert_int_equal(node_peers_join(&third, lines.root, (struct node_root){30, 3}), 1);
    node_peers_leave(&third);
    node_lines_end(&lines);
}

/* A file system gives the number of a directory that was removed to the next one. */
static void a_new_directory_is_another_one(void **state)
{
    struct node_lines lines;
    struct node_peers first, second;
    char path[PATH_MAX];
    node_lines_begin(&lines);
    snprintf(path, sizeof path, "%s/traces", lines.root);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(node_peers_join(&first, path, (struct node_root){10, 1}), 1);
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(node_peers_join(&second, path, (struct node_root){20, 2}), 1);
        node_peers_leave(&second);
        node_peers_leave(&first);
        assert_int_equal(rmdir(path), 0);
    }
    node_lines_end(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_jobs_processes_and_threads),
        cmocka_unit_test(the_state_of_a_process),
        cmocka_unit_test(a_frozen_group),
        cmocka_unit_test(a_frozen_group_of_v2),
        cmocka_unit_test(a_number_that_is_used_again),
        cmocka_unit_test(what_is_of_the_job),
        cmocka_unit_test(one_of_several_samplers_writes),
        cmocka_unit_test(a_new_directory_is_another_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
