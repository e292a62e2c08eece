/*
 * The format "py-spy": what the threads of Python processes were doing, as `py-spy dump --pid PID` prints it,
 * as text or (--json) as JSON. The innermost frames of the main thread become an event of the process.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/telemetry.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

/* A dump of a process with thousands of threads has less. */
enum { DUMP_BYTES_MOST = 64 << 20 };

struct spy_file {
    struct telemetry telemetry;
    int64_t pid; /* of the process that is being read; COUNT_UNKNOWN */
    char process[64];
    int is_main;        /* the lines are of its main thread */
    int has_main;       /* a thread of it was called the main one */
    struct buffer text; /* "MainThread idle: wait (threading.py:320) < get (queue.py:171)" */
    uint64_t offset;    /* of the thread */
};

static int end_process(struct spy_file *file, struct error *error)
{
    struct log_time time = telemetry_file_time(&file->telemetry);
    char text[NODE_STACK_BYTES + 1], device[32];
    struct text said = {file->text.data, file->text.length};
    int is_told = file->pid != COUNT_UNKNOWN && said.length;
    snprintf(device, sizeof device, "%lld", (long long)file->pid);
    struct node_event event = {.place = NODE_PROCESS,
                               .device = device,
                               .code = NODE_EVENT_STACK,
                               .number = COUNT_UNKNOWN,
                               .at_ns = time.at_ns,
                               .since_boot_ns = TIME_UNKNOWN,
                               .error_ns = time.error_ns,
                               .pid = file->pid,
                               .process = file->process[0] ? file->process : NULL,
                               .text = text_copy(said, text, sizeof text)};
    int failed = is_told && telemetry_event(&file->telemetry, &event, file->offset, error);
    buffer_clear(&file->text);
    file->is_main = file->has_main = 0;
    return failed ? -1 : 0;
}

/* The name of the program in a command: "/usr/bin/python3 train.py". */
static void keep_process(struct spy_file *file, struct text command)
{
    struct text word = text_next(&command);
    const char *slash = word.length ? memrchr(word.data, '/', word.length) : NULL;
    if (slash)
        word = text_skip(word, (size_t)(slash - word.data) + 1);
    file->process[0] = '\0';
    text_copy(word, file->process, sizeof file->process);
}

static int begin_thread(struct spy_file *file, struct text name, struct text state, uint64_t offset,
                        struct error *error)
{
    buffer_clear(&file->text);
    file->offset = offset;
    return buffer_append(&file->text, name.data, name.length) || buffer_append_byte(&file->text, ' ') ||
                   buffer_append(&file->text, state.data, state.length) ||
                   buffer_append_byte(&file->text, ':')
               ? error_no_memory(error)
               : 0;
}

/* The innermost frame comes first; what does not fit in an event is dropped. */
static int add_frame(struct spy_file *file, struct text frame, struct error *error)
{
    if (file->text.length + frame.length + 3 > NODE_STACK_BYTES)
        return 0;
    const char *between = file->text.length && file->text.data[file->text.length - 1] == ':' ? " " : " < ";
    return buffer_append_text(&file->text, between) || buffer_append(&file->text, frame.data, frame.length)
               ? error_no_memory(error)
               : 0;
}

/*
 * "Thread 4711 (idle): "MainThread"", "Thread 0x7F3A (active+gil)". The main thread has this name, or the
 * process's id; older versions name no threads, and print it last or first.
 */
static int take_thread(struct spy_file *file, struct text line, uint64_t offset, struct error *error)
{
    struct text rest = text_skip(line, sizeof "Thread " - 1);
    struct text id = text_next(&rest), behind = text_after(rest, "(");
    struct text state = text_part(&behind, ')'), name = text_after(behind, "\"");
    name = name.data ? text_part(&name, '"') : (struct text){"thread", sizeof "thread" - 1};
    int is_main =
        text_is(name, "MainThread") || (file->pid != COUNT_UNKNOWN && text_leading_number(id) == file->pid);
    file->is_main = !file->has_main && (is_main || !file->text.length);
    file->has_main |= is_main;
    return file->is_main ? begin_thread(file, name, state, offset, error) : 0;
}

/* "Process 4711: python train.py" */
static int take_process(struct spy_file *file, struct text line, struct error *error)
{
    if (end_process(file, error))
        return -1;
    struct text rest = text_skip(line, sizeof "Process " - 1);
    file->pid = text_leading_number(rest);
    (void)text_part(&rest, ':');
    keep_process(file, text_trim(rest));
    return 0;
}

/* Frames are indented by four columns; arguments and local variables by more. */
static int is_frame(struct text line)
{
    return line.length > 5 && memcmp(line.data, "    ", 4) == 0 && line.data[4] != ' ' &&
           memchr(line.data, '(', line.length);
}

static int take_line(void *context, const struct input_line *line, struct error *error)
{
    struct spy_file *file = context;
    struct text text;
    int whole = telemetry_line(&file->telemetry, line, &text, error);
    if (whole < 1 || !text_trim(text).length)
        return whole < 0 ? -1 : 0;
    if (text_begins(text, "Process "))
        return take_process(file, text, error);
    if (text_begins(text, "Thread "))
        return take_thread(file, text, line->offset, error);
    if (is_frame(text))
        return file->is_main ? add_frame(file, text_trim(text), error) : 0;
    return text_begins(text, "Python v") || text.data[0] == ' '
               ? 0
               : telemetry_note(&file->telemetry, "line of no stack", 0, line, error);
}

/* {"name": "wait", "short_filename": "threading.py", "line": 320} */
static int add_json_frame(struct spy_file *file, const struct value *frame, struct error *error)
{
    const struct value *name = value_member(frame, "name"), *in = value_member(frame, "short_filename");
    int64_t line = 0;
    char text[NODE_STACK_BYTES];
    if (!value_is_of(name, VALUE_TEXT))
        return 0;
    if (!value_is_of(in, VALUE_TEXT))
        in = value_member(frame, "filename");
    (void)value_int64(value_member(frame, "line"), &line);
    int length =
        snprintf(text, sizeof text, "%.*s (%.*s:%lld)", (int)(name->length < 120 ? name->length : 120),
                 name->text, value_is_of(in, VALUE_TEXT) && in->length < 120 ? (int)in->length : 0,
                 value_is_of(in, VALUE_TEXT) ? in->text : "", (long long)line);
    return add_frame(file, (struct text){text, (size_t)length}, error);
}

static int is_true(const struct value *value)
{
    return value_is_of(value, VALUE_BOOLEAN) && value->integer;
}

/* An item of the list of --json: a thread. */
static int take_json_thread(struct spy_file *file, const struct value *thread, struct error *error)
{
    const struct value *name = value_member(thread, "thread_name"), *frames = value_member(thread, "frames");
    const struct value *process = value_member(thread, "process_info");
    const struct value *command = value_member(process, "command_line");
    const char *state = is_true(value_member(thread, "owns_gil")) ? "active+gil"
                        : is_true(value_member(thread, "active")) ? "active"
                                                                  : "idle";
    int64_t pid = COUNT_UNKNOWN;
    if (value_int64(value_member(thread, "pid"), &pid))
        (void)value_int64(value_member(process, "pid"), &pid);
    if (pid != file->pid && end_process(file, error))
        return -1;
    file->pid = pid;
    if (value_is_of(command, VALUE_TEXT))
        keep_process(file, (struct text){command->text, command->length});
    int is_main = value_is(name, "MainThread");
    if (file->has_main || (!is_main && file->text.length))
        return 0;
    file->has_main = is_main;
    struct text called = value_is_of(name, VALUE_TEXT) ? (struct text){name->text, name->length}
                                                       : (struct text){"thread", sizeof "thread" - 1};
    if (begin_thread(file, called, (struct text){state, strlen(state)}, 0, error))
        return -1;
    for (const struct value *frame = value_begin(frames); frame < value_end(frames); frame++)
        if (add_json_frame(file, frame, error))
            return -1;
    return 0;
}

static int read_json(struct spy_file *file, struct input *input, struct error *error)
{
    struct buffer bytes = BUFFER_INIT;
    struct values values;
    struct value root;
    int status = input_whole(input, DUMP_BYTES_MOST, &bytes, error);
    values_init(&values, DUMP_BYTES_MOST);
    if (!status)
        status = json_to_values(&values, bytes.data, bytes.length, 0, &root, error);
    const struct format_sink *sink = file->telemetry.sink;
    if (status == 1)
        status = sink->note(sink->context, TELEMETRY_NOTE_UNREADABLE, 1, 0, bytes.data,
                            bytes.length < 80 ? bytes.length : 80, error);
    else if (!status && root.kind == VALUE_LIST)
        for (const struct value *at = value_begin(&root); at < value_end(&root) && !status; at++)
            status = take_json_thread(file, at, error);
    values_release(&values);
    buffer_release(&bytes);
    return status;
}

static int py_spy_read(struct input *input, const struct format_sink *sink, char *dialect,
                       size_t dialect_bytes, struct error *error)
{
    struct spy_file file = {.pid = COUNT_UNKNOWN, .text = BUFFER_INIT};
    const char *bytes;
    telemetry_init(&file.telemetry, sink, input);
    snprintf(dialect, dialect_bytes, "py-spy");
    int64_t length = input_peek(input, &bytes, 1, error);
    int status = length < 0 ? -1 : 0;
    if (!status)
        status = length && (*bytes == '[') ? read_json(&file, input, error)
                                           : telemetry_lines(input, &file, take_line, error);
    if (!status)
        status = end_process(&file, error);
    buffer_release(&file.text);
    telemetry_release(&file.telemetry);
    return status;
}

enum { SURE = 80 };

static int py_spy_sniff(const char *bytes, size_t length, const char *path)
{
    const struct text text = {bytes, length};
    (void)path;
    if (length && *bytes == '[')
        return text_contains(text, "\"thread_name\"") && text_contains(text, "\"owns_gil\"") &&
                       text_contains(text, "\"frames\"")
                   ? SURE
                   : 0;
    return (text_begins(text, "Process ") || text_contains(text, "\nProcess ")) &&
                   text_contains(text, "\nPython v") && text_contains(text, "\nThread ")
               ? SURE
               : 0;
}

const struct format format_py_spy = {
    .name = "py-spy",
    .version = 2,
    .description = "stacks of Python processes (py-spy dump)",
    .unknown = "line of no stack",
    .name_counts = 1,
    .sniff = py_spy_sniff,
    .read = py_spy_read,
};
