#include "html/page.h"

#include "base/base64.h"
#include "base/sha256.h"
#include "html/text.h"
#include "html_assets.h"
#include "output/output.h"

#include <string.h>

static int put_source(struct buffer *page, const char *text)
{
    unsigned char digest[SHA256_BYTES];
    sha256(text, strlen(text), digest);
    return buffer_append_text(page, "'sha256-") || base64_append(page, digest, sizeof digest) ||
                   buffer_append_byte(page, '\'')
               ? -1
               : 0;
}

static int put_policy(struct buffer *page)
{
    return buffer_append_text(page,
                              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                              "script-src ") ||
                   put_source(page, html_asset_page_js) || buffer_append_text(page, "; style-src ") ||
                   put_source(page, html_asset_page_css) ||
                   buffer_append_text(page, "; base-uri 'none'; form-action 'none'\">\n")
               ? -1
               : 0;
}

static int put_head(struct buffer *page, const char *title)
{
    return buffer_append_text(page,
                              "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n") ||
                   put_policy(page) ||
                   buffer_append_text(
                       page,
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n"
                       "<meta name=\"referrer\" content=\"no-referrer\">\n"
                       "<meta name=\"generator\" content=\"ncclprof " NCCLPROF_VERSION "\">\n") ||
                   html_element(page, "title", title) ||
                   buffer_printf(page, "<style>%s</style>\n</head>\n<body>\n", html_asset_page_css)
               ? -1
               : 0;
}

static int put_header(struct buffer *page, const struct html_page *of, const char *title, const char *lead)
{
    return put_head(page, title) ||
                   buffer_append_text(
                       page, "<a class=\"skip\" href=\"#main\">Skip to the report</a>\n<header>\n") ||
                   html_element(page, "h1", title) || html_element(page, "p class=\"note\"", lead) ||
                   buffer_append_text(page, "<nav aria-label=\"Sections\"><ul>\n") ||
                   buffer_append(page, of->contents.data, of->contents.length) ||
                   buffer_append_text(page, "</ul></nav>\n</header>\n<main id=\"main\">\n")
               ? -1
               : 0;
}

static int put_link(struct html_page *page, const char *id, const char *link)
{
    return buffer_printf(&page->contents, "<li><a href=\"#%s\">", id) || html_text(&page->contents, link) ||
                   buffer_append_text(&page->contents, "</a></li>\n")
               ? -1
               : 0;
}

int html_section_begin(struct html_page *page, const char *id, const char *heading, const char *link)
{
    return (link && put_link(page, id, link)) ||
                   buffer_printf(&page->body,
                                 "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">", id,
                                 id, id) ||
                   html_text(&page->body, heading) || buffer_append_text(&page->body, "</h2>\n")
               ? -1
               : 0;
}

int html_section_end(struct html_page *page)
{
    return buffer_append_text(&page->body, "</section>\n");
}

/* JSON within a script: nothing in it ends the script or begins a comment. */
static int put_data(struct buffer *page, const struct buffer *data)
{
    for (size_t at = 0; at < data->length;) {
        size_t plain = strcspn(data->data + at, "<>&");
        if (buffer_append(page, data->data + at, plain))
            return -1;
        at += plain;
        if (at < data->length && buffer_printf(page, "\\u%04x", (unsigned)data->data[at++]))
            return -1;
    }
    return 0;
}

static int put_end(struct buffer *page, const struct buffer *data)
{
    return buffer_append_text(page, "</main>\n<footer>Made by ncclprof " NCCLPROF_VERSION
                                    ". This file loads nothing and sends nothing.</footer>\n"
                                    "<script type=\"application/json\" id=\"data\">{\"runs\":[") ||
                   put_data(page, data) ||
                   buffer_printf(page, "]}</script>\n<script>%s</script>\n</body>\n</html>\n",
                                 html_asset_page_js)
               ? -1
               : 0;
}

int html_page_write(const struct html_page *page, const char *title, const char *lead, struct output *output,
                    struct error *error)
{
    struct buffer head = BUFFER_INIT, end = BUFFER_INIT;
    int failed = put_header(&head, page, title, lead) || put_end(&end, &page->data)
                     ? error_no_memory(error)
                     : output_write(output, head.data, head.length, error) ||
                           output_write(output, page->body.data, page->body.length, error) ||
                           output_write(output, end.data, end.length, error);
    buffer_release(&head);
    buffer_release(&end);
    return failed ? -1 : 0;
}

void html_page_release(struct html_page *page)
{
    buffer_release(&page->body);
    buffer_release(&page->contents);
    buffer_release(&page->data);
}
