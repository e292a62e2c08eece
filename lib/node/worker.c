/* Processes that sample devices whose driver may not answer. */
#include "node/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Without an answer for this long the record says so. */
static const int64_t PATIENCE_NS = 5000000000;

/* A line of a worker is not longer. */
enum { LINE_MOST = 1 << 20 };

/* The CPU time is checked after so many rounds: as many slow ones are in each of them. */
enum { PACE_ROUNDS = NODE_SLOW_ROUNDS, STRETCH_MOST = 16 };

/* Within an interval there are so many glances at most, and not more often than this. A call that costs 1 us
 * at once costs 15 us after a pause. */
enum { GLANCES = 4 };
static const int64_t GLANCE_NS = 50000000;

int64_t node_pace_interval(const struct node_pace *pace)
{
    return pace->interval_ns * (pace->stretch > 0 ? pace->stretch : 1);
}

int node_pace_check(struct node_pace *pace, int64_t budgeted_ns)
{
    int is_first = ++pace->rounds == 1; /* what the start cost does not count */
    if ((!is_first && pace->rounds % PACE_ROUNDS != 0) || pace->most_cpu_share_ppm == 0)
        return 0;
    int64_t now_ns = node_monotonic_ns(), cpu_ns = node_own_cpu_ns() - budgeted_ns;
    int64_t elapsed_ns = now_ns - pace->checked_ns;
    int before = pace->stretch;
    if (pace->checked_ns && elapsed_ns > 0) {
        int64_t share_ppm = (cpu_ns - pace->checked_cpu_ns) * 1000 / (elapsed_ns / 1000 + 1);
        /* One step at a time: calls are dear while the job starts. */
        if (share_ppm > pace->most_cpu_share_ppm && pace->stretch < STRETCH_MOST)
            pace->stretch *= 2;
        else if (share_ppm < pace->most_cpu_share_ppm / 2 && pace->stretch > 1)
            pace->stretch /= 2;
    }
    pace->checked_ns = now_ns;
    pace->checked_cpu_ns = cpu_ns;
    return pace->stretch != before;
}

int node_budget_allows(struct node_budget *budget, int64_t now_ns)
{
    int64_t elapsed_ns = now_ns - budget->at_ns;
    int64_t earned_ns =
        elapsed_ns / 1000000 * budget->share_ppm + elapsed_ns % 1000000 * budget->share_ppm / 1000000;
    int is_full = !budget->at_ns || earned_ns >= budget->most_ns - budget->credit_ns;
    budget->credit_ns = is_full ? budget->most_ns : budget->credit_ns + earned_ns;
    budget->at_ns = now_ns;
    return budget->credit_ns > 0;
}

void node_budget_spend(struct node_budget *budget, int64_t cpu_ns)
{
    budget->credit_ns -= cpu_ns;
}

static int write_all(int file, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(file, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Where a worker's lines go, and how many went there. */
struct line_pipe {
    int file;
    int64_t lines;
};

static int send_line(void *context, const char *line, size_t length)
{
    struct line_pipe *pipe = context;
    pipe->lines++;
    return write_all(pipe->file, line, length);
}

/* A worker at work. */
struct worker_loop {
    const struct node_work *work;
    void *state;
    struct node_round round;
    struct node_pace pace;
    int64_t before_ns, slow_before_ns;
    struct line_pipe *pipe;
};

static void call(struct worker_loop *loop, void (*function)(void *state, struct node_round *round),
                 int64_t since_ns, int64_t now_ns)
{
    if (!function)
        return;
    loop->round.since_ns = since_ns;
    loop->round.now_ns = now_ns;
    loop->round.interval_ns = node_pace_interval(&loop->pace);
    function(loop->state, &loop->round);
    loop->round.shared->device[0] = '\0';
}

/* Returns -1 if the reader of the pipe is gone: then the pipe has an error. */
static int wait_until(struct worker_loop *loop, int64_t due_ns)
{
    struct pollfd end = {.fd = loop->pipe->file, .events = 0};
    int64_t rest_ns = due_ns - node_monotonic_ns();
    loop->round.shared->due_ns = due_ns;
    return poll(&end, 1, rest_ns > 0 ? (int)(rest_ns / 1000000) : 0) > 0 ? -1 : 0;
}

/* Waits for the end of an interval, and glances meanwhile. */
static int wait_and_glance(struct worker_loop *loop, int64_t begin_ns)
{
    int64_t interval_ns = node_pace_interval(&loop->pace), before_ns = begin_ns;
    int64_t glances = interval_ns / GLANCE_NS < GLANCES ? interval_ns / GLANCE_NS : GLANCES;
    for (int64_t i = 1; loop->work->glance && i < glances; i++) {
        int64_t due_ns = begin_ns + interval_ns * i / glances;
        if (due_ns <= node_monotonic_ns())
            continue;
        if (wait_until(loop, due_ns) || loop->round.writer->has_failed)
            return -1;
        int64_t now_ns = node_monotonic_ns();
        call(loop, loop->work->glance, before_ns, now_ns);
        before_ns = now_ns;
    }
    return wait_until(loop, begin_ns + interval_ns);
}

/* Writes that the devices were asked, so that it is known how long their values hold; and how often they are.
 */
static void tell_round(struct worker_loop *loop, int64_t now_ns, int has_interval)
{
    struct node_writer *writer = loop->round.writer;
    int64_t interval_ns = node_pace_interval(&loop->pace) * (loop->work->sample ? 1 : NODE_SLOW_ROUNDS);
    char text[32];
    node_line_begin(writer, now_ns, now_ns);
    snprintf(text, sizeof text, "\"%s\"", loop->work->name);
    node_line_add(writer, "from", text);
    snprintf(text, sizeof text, "%lld", (long long)(interval_ns / 1000000));
    if (has_interval)
        node_line_add(writer, "interval_ms", text);
    node_line_finish(writer, 1);
}

/* Asks the devices. A round in which they had no news has a line, too. */
static void make_round(struct worker_loop *loop, int number, int64_t now_ns)
{
    int64_t lines = loop->pipe->lines;
    int is_slow = number % NODE_SLOW_ROUNDS == 0;
    call(loop, loop->work->sample, loop->before_ns, now_ns);
    if (is_slow) {
        call(loop, loop->work->sample_slow, loop->slow_before_ns, now_ns);
        loop->slow_before_ns = now_ns;
    }
    if (number == 0 || (lines == loop->pipe->lines && (loop->work->sample || is_slow)))
        tell_round(loop, now_ns, number == 0);
    loop->before_ns = now_ns;
}

/* Samples until the sampler, which reads the pipe, has ended. */
static void work_on(struct worker_loop *loop)
{
    const struct node_work *work = loop->work;
    struct node_round *round = &loop->round;
    loop->state = calloc(1, work->state_bytes);
    loop->before_ns = loop->slow_before_ns = node_monotonic_ns();
    if (!loop->state)
        return;
    int is_open = work->open(loop->state, round->files, round->writer, round->shared);
    for (int number = 0; is_open && !round->writer->has_failed; number++) {
        int64_t now_ns = node_monotonic_ns();
        make_round(loop, number, now_ns);
        if (write_all(loop->pipe->file, "\n", 1))
            break;
        if (node_pace_check(&loop->pace, round->budgeted_ns))
            tell_round(loop, now_ns, 1);
        if (wait_and_glance(loop, now_ns))
            break;
    }
    free(loop->state);
}

/* What a worker gets at its start. */
struct start {
    const struct node_work *work;
    const struct node_files *files;
    const struct node_writer *writer;
    const struct node_pace *pace;
    struct node_shared *shared;
    int pipe;
};

static void run_worker(void *context)
{
    struct start *start = context;
    struct node_writer own;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "ncclprof-dev");
    struct line_pipe pipe = {.file = start->pipe};
    node_writer_init(&own, start->work->prefix, send_line, &pipe);
    own.zero_ns = start->writer->zero_ns;
    struct worker_loop loop = {.work = start->work,
                               .round = {.files = start->files, .writer = &own, .shared = start->shared},
                               .pace = *start->pace,
                               .pipe = &pipe};
    work_on(&loop);
}

int node_worker_start(struct node_worker *worker, const struct node_work *work,
                      const struct node_files *files, const struct node_writer *writer,
                      const struct node_pace *pace)
{
    int pipes[2];
    *worker = (struct node_worker){.work = work, .pipe = -1};
    void *shared =
        mmap(NULL, sizeof *worker->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe2(pipes, O_CLOEXEC))
        return -1;
    struct start start = {work, files, writer, pace, shared, pipes[1]};
    const int kept[] = {pipes[1], files->proc, files->sys, files->dev};
    pid_t pid = node_process_start(run_worker, &start, kept, sizeof kept / sizeof *kept);
    close(pipes[1]);
    if (pid < 0) {
        close(pipes[0]);
        munmap(shared, sizeof *worker->shared);
        return -1;
    }
    fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    *worker = (struct node_worker){
        .work = work, .pid = pid, .pipe = pipes[0], .shared = shared, .heard_ns = node_monotonic_ns()};
    return 0;
}

void node_worker_stop(struct node_worker *worker)
{
    if (worker->pid <= 0)
        return;
    /* One that hangs in its driver cannot be killed, and is not waited for. */
    kill(worker->pid, SIGKILL);
    waitpid(worker->pid, NULL, WNOHANG);
    if (worker->pipe >= 0)
        close(worker->pipe);
    munmap(worker->shared, sizeof *worker->shared);
    buffer_release(&worker->pending);
    *worker = (struct node_worker){.pipe = -1};
}

/* Hands over the complete lines, and keeps the rest. */
static int pass_lines(struct node_worker *worker, struct node_writer *writer)
{
    struct buffer *pending = &worker->pending;
    size_t begin = 0;
    int outcome = 0;
    for (size_t at = 0; at < pending->length; at++) {
        if (pending->data[at] != '\n')
            continue;
        if (at > begin && outcome == 0)
            outcome = writer->output(writer->context, pending->data + begin, at + 1 - begin);
        begin = at + 1;
    }
    memmove(pending->data, pending->data + begin, pending->length - begin);
    pending->length -= begin;
    return outcome;
}

static void tell(struct node_worker *worker, struct node_writer *writer, const char *what, int64_t silent_ns)
{
    struct buffer json = BUFFER_INIT;
    char device[sizeof worker->shared->device + 1];
    snprintf(device, sizeof device, "%.*s", (int)sizeof worker->shared->device, worker->shared->device);
    if (buffer_printf(&json, "{\"from\":\"%s\",\"seconds\":%lld", worker->work->name,
                      (long long)(silent_ns / 1000000000)) ||
        (device[0] && text_json_string(&json, "device", device)) || buffer_append_byte(&json, '}'))
        writer->has_failed = 1;
    else
        node_line_alone(writer, node_monotonic_ns(), what, json.data);
    buffer_release(&json);
}

int node_worker_hear(struct node_worker *worker, struct node_writer *writer)
{
    char bytes[16384];
    ssize_t length = 0;
    if (worker->pid <= 0 || worker->pipe < 0)
        return 0;
    while ((length = read(worker->pipe, bytes, sizeof bytes)) > 0) {
        worker->heard_ns = node_monotonic_ns();
        worker->has_answered = 1;
        if (worker->pending.length > LINE_MOST || buffer_append(&worker->pending, bytes, (size_t)length))
            return -1;
        if (pass_lines(worker, writer))
            return -1;
    }
    if (length == 0) {
        /* It had nothing to sample, or its driver's library crashed. */
        int status = 0;
        waitpid(worker->pid, &status, 0);
        if (WIFSIGNALED(status))
            tell(worker, writer, "crashed", 0);
        close(worker->pipe);
        worker->pipe = -1;
    }
    return 0;
}

void node_worker_check(struct node_worker *worker, struct node_writer *writer)
{
    int64_t due_ns = worker->pid > 0 ? worker->shared->due_ns : 0;
    int64_t silent_ns = node_monotonic_ns() - (due_ns > worker->heard_ns ? due_ns : worker->heard_ns);
    int64_t patience_ns = worker->has_answered ? PATIENCE_NS : worker->work->patience_ns;
    if (worker->pid <= 0 || worker->pipe < 0)
        return;
    if (worker->told_ns && silent_ns < PATIENCE_NS) {
        tell(worker, writer, "answers_again", worker->heard_ns - worker->told_ns + PATIENCE_NS);
        worker->told_ns = 0;
    } else if (!worker->told_ns && silent_ns >= patience_ns) {
        worker->told_ns = node_monotonic_ns();
        tell(worker, writer, "no_answer", silent_ns);
    }
}

void node_worker_tell(struct node_worker *worker, const struct node_root *roots, size_t count)
{
    if (worker->pid <= 0)
        return;
    memcpy(worker->shared->roots, roots, count * sizeof *roots);
    worker->shared->root_count = (int32_t)count;
}
