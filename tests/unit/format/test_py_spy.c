#include "support/cmocka_all.h"
#include "support/node_told.h"

#include "model/model.h"

#include <stdio.h>
#include <string.h>

#define HEAD "Process 4711: /usr/bin/python3 -u train.py\nPython v3.10.12 (/usr/bin/python3.10)\n\n"

static void check_stack(const struct node_event *event, int64_t pid, const char *device, const char *text)
{
    assert_int_equal(event->code, NODE_EVENT_STACK);
    assert_int_equal(event->place, NODE_PROCESS);
    assert_string_equal(event->device, device);
    assert_int_equal(event->pid, pid);
    assert_int_equal(event->at_ns, MOMENT);
    assert_string_equal(event->process, "python3");
    assert_string_equal(event->text, text);
}

/* The main thread of each process, wherever it stands, without arguments and variables. */
static void text(void **state)
{
    struct recording recording;
    told_by(&recording, "node1.20261126-101112.txt",
            HEAD
            "Thread 4790 (active+gil): \"Thread-1\"\n    read (socket.py:705)\n"
            "Thread 4711 (idle): \"MainThread\"\n    wait (threading.py:320)\n        Arguments:\n"
            "            self: <Lock at 0x7f>\n    <module> (train.py:301)\n"
            "Thread 4791 (idle): \"Thread-2\"\n    get (queue.py:171)\n\n"
            "Process 4712: python3 train.py\nPython v3.10.12 (/usr/bin/python3.10)\n\n"
            "Thread 4712 (active)\n    all_reduce (distributed_c10d.py:2501)\n");
    assert_string_equal(recording.dialect, "py-spy");
    assert_int_equal(recording.event_count, 2);
    check_stack(told_event(&recording, 0), 4711, "4711",
                "MainThread idle: wait (threading.py:320) < <module> (train.py:301)");
    assert_string_equal(told_event(&recording, 0)->host, "node1");
    check_stack(told_event(&recording, 1), 4712, "4712",
                "thread active: all_reduce (distributed_c10d.py:2501)");
    assert_int_equal(recording.note_count, 0);
    recording_release(&recording);
}

#define THREAD(id, name, active, frame)                                                    \
    "{\"pid\":4713,\"thread_id\":" id ",\"thread_name\":\"" name "\",\"os_thread_id\":" id \
    ",\"active\":" active ",\"owns_gil\":false,\"frames\":[{\"name\":\"" frame             \
    "\",\"filename\":\"/x/a.py\",\"short_filename\":"                                      \
    "\"a.py\",\"line\":7}],\"process_info\":{\"pid\":4713,\"command_line\":\"python3 train.py\"}}"

static void json(void **state)
{
    static const char dump[] = "[\n  " THREAD("1", "Thread-1", "true", "read") ",\n" THREAD(
        "2", "MainThread", "false", "synchronize") "\n]\n";
    struct recording recording;
    told_by(&recording, "node1.20261126-101112.json", dump);
    assert_int_equal(recording.event_count, 1);
    check_stack(told_event(&recording, 0), 4713, "4713", "MainThread idle: synchronize (a.py:7)");
    recording_release(&recording);
    damage_told("a.json", dump);
}

/* A deep stack keeps its innermost frames. */
static void deep(void **state)
{
    char content[8192] = HEAD "Thread 4711 (idle): \"MainThread\"\n";
    struct recording recording;
    for (int i = 0; i < 200; i++) {
        size_t length = strlen(content);
        snprintf(content + length, sizeof content - length, "    frame%d (a.py:%d)\n", i, i);
    }
    told_by(&recording, "a.20261126-101112.txt", content);
    const char *said = told_event(&recording, 0)->text;
    assert_true(strlen(said) <= NODE_STACK_BYTES);
    assert_non_null(strstr(said, ": frame0 (a.py:0) < frame1 (a.py:1) < "));
    recording_release(&recording);
}

static void damaged(void **state)
{
    damage_told("a.txt", HEAD "Thread 4711 (idle): \"MainThread\"\n    wait (threading.py:320)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text),
        cmocka_unit_test(json),
        cmocka_unit_test(deep),
        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
