/*
 * The end of a file after all written text: it is there after the flush that requests it, and removed by the
 * next write, also if it cannot be written.
 */
#include "support/cmocka_all.h"

/* The plugin is a separate library; the tool's library does not contain it. */
#include "plugin/write/path.c"
#include "plugin/write/sink.c"
#include "plugin/write/write.h"

#include <signal.h>
#include <sys/resource.h>

#define END "{}]\n"

static char folder[64];

struct content {
    char text[1 << 16];
    size_t length;
    bool is_whole; /* a compressed file: its end is there, with nothing after it */
};

static void unpack(struct content *content, const unsigned char *packed, size_t length)
{
    z_stream stream = {.next_in = packed, .avail_in = (unsigned)length};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    stream.next_out = (unsigned char *)content->text;
    stream.avail_out = sizeof(content->text) - 1;
    content->is_whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0;
    content->length = stream.total_out;
    inflateEnd(&stream);
}

static struct content *read_back(const char *path)
{
    static struct content content;
    static unsigned char bytes[sizeof(content.text) - 1];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, sizeof(bytes), file);
    assert_int_equal(fclose(file), 0);
    memset(&content, 0, sizeof(content));
    if (length > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b) {
        unpack(&content, bytes, length);
    } else {
        memcpy(content.text, bytes, length);
        content.length = length;
        content.is_whole = true;
    }
    return &content;
}

static void check(const char *path, const char *wanted)
{
    const struct content *content = read_back(path);
    assert_string_equal(content->text, wanted);
    assert_int_equal(content->length, strlen(wanted));
    assert_true(content->is_whole);
}

static void put(struct sink *sink, const char *line)
{
    text_string(sink_line(sink), line);
}

static void open_sink(struct sink *sink, const char *name, bool gzip)
{
    char pattern[128];
    snprintf(pattern, sizeof(pattern), "%s/%s", folder, name);
    assert_int_equal(sink_prepare(sink, pattern, 0, ".json", gzip), 0);
    assert_int_equal(sink_create(sink), 0);
}

static void close_sink(struct sink *sink)
{
    sink_close(sink);
    assert_int_equal(unlink(sink->path), 0);
}

static void lines_overwrite_an_end(void **state)
{
    (void)state;
    for (int gzip = 0; gzip < 2; gzip++) {
        struct sink sink;
        open_sink(&sink, "lines", gzip);
        put(&sink, "[\n");
        sink_flush(&sink, "");
        check(sink.path, "[\n");
        put(&sink, "{\"a\": 1},\n");
        sink_flush(&sink, END);
        check(sink.path, "[\n{\"a\": 1},\n" END);
        put(&sink, "{},\n");
        sink_flush(&sink, END);
        check(sink.path, "[\n{\"a\": 1},\n{},\n" END);
        /* Shorter than the end itself. */
        put(&sink, "\n");
        sink_flush(&sink, "");
        check(sink.path, "[\n{\"a\": 1},\n{},\n\n");
        put(&sink, END);
        sink_flush(&sink, "");
        sink_close(&sink);
        check(sink.path, "[\n{\"a\": 1},\n{},\n\n" END);
        assert_int_equal(unlink(sink.path), 0);
    }
}

static void an_end_comes_and_goes_alone(void **state)
{
    (void)state;
    for (int gzip = 0; gzip < 2; gzip++) {
        struct sink sink;
        open_sink(&sink, "alone", gzip);
        put(&sink, "[\n");
        sink_flush(&sink, "");
        for (int round = 0; round < 3; round++) {
            sink_flush(&sink, END);
            sink_flush(&sink, END);
            check(sink.path, "[\n" END);
            sink_flush(&sink, "");
            sink_flush(&sink, "");
            check(sink.path, "[\n");
        }
        close_sink(&sink);
    }
}

static off_t size_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_size;
}

static void limit_files(off_t bytes)
{
    struct rlimit limit = {.rlim_cur = bytes < 0 ? RLIM_INFINITY : (rlim_t)bytes, .rlim_max = RLIM_INFINITY};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/*
 * As on a full disk: space for `more` bytes after the present ones; a negative number for a part of the end.
 */
static void fail_after(bool gzip, off_t more)
{
    static const char before[] = "[\n{\"a\": 1},\n";
    struct sink sink;
    open_sink(&sink, "full", gzip);
    put(&sink, before);
    sink_flush(&sink, END);
    check(sink.path, "[\n{\"a\": 1},\n" END);
    limit_files(size_of(sink.path) + more);
    for (int i = 0; i < 200; i++) {
        char line[32];
        snprintf(line, sizeof(line), "{\"b\": %d},\n", i * 2654435 % 10007);
        put(&sink, line);
    }
    sink_flush(&sink, END);
    sink_flush(&sink, END);
    limit_files(-1);
    assert_int_equal(sink.failure, EFBIG);
    const struct content *content = read_back(sink.path);
    assert_memory_equal(content->text, before, strlen(before));
    assert_null(strstr(content->text, "]"));
    assert_memory_equal(content->text + content->length - 2, ",\n", 2);
    /* A full disk has space for what was there before. */
    assert_true(content->is_whole || more < 0);
    close_sink(&sink);
}

static void a_failing_write_leaves_no_end(void **state)
{
    (void)state;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    for (off_t more = -16; more < 40; more++) {
        fail_after(false, more);
        fail_after(true, more);
    }
    signal(SIGXFSZ, before);
}

/*
 * The writes of a slow job are short: the last line replaces a few lines, not all since the last long write,
 * and none if there never was one.
 */
static void a_last_line_after_short_writes(void **state)
{
    (void)state;
    static const char last[] = "{\"name\": \"Stopped\"},\n";
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int has_long = 0; has_long < 2; has_long++) {
        struct sink sink;
        open_sink(&sink, "slow", false);
        put(&sink, "[\n");
        for (int i = 0; i < 100 * has_long; i++)
            put(&sink, "{\"of\": \"a long write\"},\n");
        sink_flush(&sink, "");
        for (int i = 0; i < 400; i++) {
            put(&sink, "{\"of\": \"a short write\"},\n");
            sink_flush(&sink, "");
        }
        off_t size = size_of(sink.path);
        limit_files(size);
        put(&sink, "{},\n");
        sink_flush(&sink, "");
        assert_int_equal(sink.failure, EFBIG);
        put(&sink, last);
        sink_end_with(&sink);
        limit_files(-1);
        const struct content *content = read_back(sink.path);
        assert_true((off_t)content->length > size - 3 * SINK_LAST_BYTES);
        assert_true((off_t)content->length <= size);
        assert_string_equal(content->text + content->length - strlen(last), last);
        assert_memory_equal(content->text + content->length - strlen(last) - 2, ",\n", 2);
        close_sink(&sink);
    }
    signal(SIGXFSZ, before);
}

/* The size of the text so far in a compressed file, without its end. */
static off_t compressed_bytes(const struct sink *sink)
{
    z_stream copy;
    unsigned char bytes[4096];
    assert_int_equal(deflateCopy(&copy, &sink->gzip->stream), Z_OK);
    copy.next_in = (const unsigned char *)sink->text.bytes;
    copy.avail_in = (unsigned)sink->text.length;
    copy.next_out = bytes;
    copy.avail_out = sizeof(bytes);
    assert_int_equal(deflate(&copy, Z_SYNC_FLUSH), Z_OK);
    deflateEnd(&copy);
    return (off_t)(sizeof(bytes) - copy.avail_out);
}

/* If lines were written, but not the end after them, the lines are removed and counted. */
static void lines_without_room_for_their_end(void **state)
{
    (void)state;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    struct sink sink;
    open_sink(&sink, "taken-back", true);
    put(&sink, "[\n{},\n");
    sink_flush(&sink, "");
    unsigned random = 1;
    for (int i = 0; i < 300; i++) {
        random = random * 1103515245 + 12345;
        char text[2] = {i % 100 == 99 ? '\n' : (char)(35 + random / 65536 % 60), '\0'};
        put(&sink, text);
    }
    limit_files(lseek(sink.file, 0, SEEK_CUR) + compressed_bytes(&sink));
    sink_flush(&sink, END);
    assert_int_equal(sink.failure, EFBIG);
    assert_int_equal(sink.lines_lost, 3);
    put(&sink, "{},\n");
    sink_flush(&sink, END);
    limit_files(-1);
    assert_int_equal(sink.lines_lost, 4);
    check(sink.path, "[\n{},\n");
    close_sink(&sink);
    signal(SIGXFSZ, before);
}

/* No space for the complete end: no part of it is written, and the lines before it stay. */
static void an_end_that_does_not_fit(void **state)
{
    (void)state;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    struct sink sink;
    open_sink(&sink, "tight", false);
    put(&sink, "[\n{\"a\": 1},\n");
    limit_files((off_t)sink.text.length + 2);
    sink_flush(&sink, END);
    check(sink.path, "[\n{\"a\": 1},\n");
    assert_int_equal(sink.failure, 0);
    limit_files(-1);
    sink_flush(&sink, END);
    check(sink.path, "[\n{\"a\": 1},\n" END);
    close_sink(&sink);
    signal(SIGXFSZ, before);
}

static void a_strangers_file_is_left_alone(void **state)
{
    (void)state;
    char path[128];
    struct sink sink;
    open_sink(&sink, "ours", false);
    put(&sink, "[\n");
    sink_flush(&sink, END);
    snprintf(path, sizeof(path), "%s/theirs", folder);
    int theirs = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(theirs >= 0);
    assert_int_equal(write(theirs, "precious", 8), 8);
    assert_true(dup2(theirs, sink.file) >= 0);
    sink_flush(&sink, "");
    sink_flush(&sink, END);
    check(path, "precious");
    put(&sink, "{},\n");
    sink_flush(&sink, END);
    assert_int_equal(sink.failure, EBADF);
    check(path, "precious");
    close(sink.file);
    close(theirs);
    close_sink(&sink);
    assert_int_equal(unlink(path), 0);
}

/* Some file systems report for every file that it has no name. */
static void a_file_is_deleted_or_not(void **state)
{
    (void)state;
    for (int tells = 0; tells < 2; tells++) {
        struct sink sink;
        open_sink(&sink, "named", false);
        assert_true(sink.counts_links);
        sink.counts_links = tells;
        assert_false(sink_is_deleted(&sink));
        assert_int_equal(unlink(sink.path), 0);
        assert_int_equal(sink_is_deleted(&sink), tells);
        sink_close(&sink);
    }
}

/* Another file without a name, under the number of our descriptor. */
static void a_strangers_file_is_not_ours_deleted(void **state)
{
    (void)state;
    char path[128];
    struct sink sink;
    open_sink(&sink, "ours", false);
    snprintf(path, sizeof(path), "%s/theirs", folder);
    int theirs = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_int_equal(unlink(path), 0);
    assert_true(dup2(theirs, sink.file) >= 0);
    assert_false(sink_is_deleted(&sink));
    close(sink.file);
    close(theirs);
    close_sink(&sink);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/ncclprof-sink-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_overwrite_an_end),
        cmocka_unit_test(an_end_comes_and_goes_alone),
        cmocka_unit_test(a_failing_write_leaves_no_end),
        cmocka_unit_test(a_last_line_after_short_writes),
        cmocka_unit_test(lines_without_room_for_their_end),
        cmocka_unit_test(an_end_that_does_not_fit),
        cmocka_unit_test(a_strangers_file_is_left_alone),
        cmocka_unit_test(a_file_is_deleted_or_not),
        cmocka_unit_test(a_strangers_file_is_not_ours_deleted),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
