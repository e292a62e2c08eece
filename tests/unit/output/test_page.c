#include "base/base.h"
#include "html_assets.h"
#include "output/output.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes the page into `content`. */
static void write_page(const struct html_page *page, char *content, size_t room)
{
    struct error error = ERROR_INIT;
    char path[] = "/tmp/ncclprof-page-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    struct output *output = output_open(path, OUTPUT_PLAIN, &error);
    assert_non_null(output);
    assert_int_equal(html_page_write(page, "a <title>", output, &error), 0);
    assert_int_equal(output_close(output, &error), 0);
    close(descriptor);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    content[fread(content, 1, room - 1, file)] = '\0';
    fclose(file);
    unlink(path);
}

static void nothing_ends_the_data(void **state)
{
    enum { ROOM = 1 << 20 };
    static char content[ROOM];
    struct html_page page = {.body = BUFFER_INIT};
    assert_int_equal(buffer_append_text(&page.lead, "& lead"), 0);
    assert_int_equal(buffer_append_text(&page.overview, "<section>all</section>\n"), 0);
    assert_int_equal(html_section_begin(&page, "run-1-x", "<Head>", "<Link>"), 0);
    assert_int_equal(html_section_end(&page), 0);
    assert_int_equal(html_section_begin(&page, "run-1-y", "Unlinked", NULL), 0);
    assert_int_equal(html_section_end(&page), 0);
    assert_int_equal(buffer_append_text(&page.data, "{\"a\":\"</script><!--&\"}"), 0);
    write_page(&page, content, ROOM);
    assert_non_null(
        strstr(content, "{\"runs\":[{\"a\":\"\\u003c/script\\u003e\\u003c!--\\u0026\"}]}</script>"));
    assert_non_null(strstr(content, "<title>a &lt;title&gt;</title>"));
    assert_non_null(strstr(content, "<li><a href=\"#run-1-x\">&lt;Link&gt;</a></li>"));
    assert_non_null(strstr(content, "<h2 id=\"run-1-x-title\">&lt;Head&gt;</h2>\n</section>"));
    assert_null(strstr(content, "#run-1-y"));
    assert_non_null(strstr(content, "<p class=\"note\">&amp; lead</p>"));
    assert_non_null(strstr(content, "<main id=\"main\">\n<section>all</section>\n<section id=\"run-1-x\""));
    assert_int_equal(strncmp(content, "<!DOCTYPE html>", 15), 0);
    html_page_release(&page);
}

/* The awk script that converts them to C drops nothing. */
static void script_and_style_are_whole(void **state)
{
    static const struct {
        const char *path;
        const char *text;
    } assets[] = {{"lib/output/page.js", html_asset_page_js}, {"lib/output/page.css", html_asset_page_css}};
    static char content[1 << 18];
    for (size_t i = 0; i < sizeof assets / sizeof *assets; i++) {
        FILE *file = fopen(assets[i].path, "rb");
        assert_non_null(file);
        content[fread(content, 1, sizeof content - 1, file)] = '\0';
        fclose(file);
        assert_string_equal(content, assets[i].text);
        assert_null(strstr(content, "</"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_ends_the_data),
        cmocka_unit_test(script_and_style_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
