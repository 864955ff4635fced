#include "tsd/tool/tool.h"

const struct tool_option tool_common_options[] = {
    { "--data", "DIR", "Folder of the store." },
    { "--store", "PLACE", "The same, or a pool: rados:POOL[/NAMESPACE]." },
    { "--server", "ADDRESS",
      "Server to ask in place of a folder: HOST:PORT or https://..." },
    { "--token", "FILE",
      "Its first line is a server's token, or NAME:PASSWORD." },
    { "--cacert", "FILE", "Certificates (PEM) that a server may have." },
    { "--config", "FILE", "Settings (key = value)." },
    { "--verbose", NULL, "Tell more of what is done." },
    { "-v", NULL, "Short for --verbose." },
    { "--help", NULL, "This text." },
    { "--table", "TABLE", "OpenTSDB's, without effect." },
    { "--uidtable", "TABLE", "OpenTSDB's, without effect." },
    { "--zkbasedir", "PATH", "OpenTSDB's, without effect." },
    { "--zkquorum", "SPEC", "OpenTSDB's, without effect." },
    { 0 },
};

/* Writes 'text' to the sink now. */
static void
tool_flush(struct tool *t)
{
    if (!t->cancelled && t->text.size > 0 &&
        !t->out.write(t->out.ctx, buf_slice(&t->text)))
        t->cancelled = true;
    buf_clear(&t->text);
}

void
tool_drain(struct tool *t)
{
    tool_flush(t);
    if (!t->cancelled && t->out.drain != NULL && !t->out.drain(t->out.ctx))
        t->cancelled = true;
}

int
tool_check(struct tool *t)
{
    return t->command->check == NULL ? 0 : t->command->check(t);
}

int
tool_run(struct tool *t)
{
    int rc;

    t->arena = arena_new(t->settings->query_bytes);
    rc = t->command->run(t);
    tool_flush(t);
    buf_fini(&t->text);
    arena_free(&t->arena);
    return rc;
}

static void
flush_full(struct tool *t)
{
    if (t->text.size >= TOOL_CHUNK)
        tool_flush(t);
}

void
tool_write(struct tool *t, struct slice bytes)
{
    buf_put_slice(&t->text, bytes);
    flush_full(t);
}

void
tool_printf(struct tool *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&t->text, fmt, ap);
    va_end(ap);
    flush_full(t);
}

bool
tool_is_cancelled(const struct tool *t)
{
    return t->cancelled || cancel_asked(t->cancel);
}

static bool
is_cancelled(void *tool)
{
    return tool_is_cancelled(tool);
}

struct cancel
tool_cancel(const struct tool *t)
{
    return (struct cancel){ is_cancelled, (void *)(uintptr_t)t };
}

static void
say_text(struct tool *t, struct buf *text)
{
    tool_flush(t);
    if (!t->cancelled && !t->err.write(t->err.ctx, buf_slice(text)))
        t->cancelled = true;
    buf_fini(text);
}

static void say_line(struct tool *t, const char *fmt, va_list args)
    PRINTF_LIKE(2, 0);

static void
say_line(struct tool *t, const char *fmt, va_list args)
{
    struct buf line = BUF_INIT;

    buf_vprintf(&line, fmt, args);
    buf_put_u8(&line, '\n');
    say_text(t, &line);
}

void
tool_say(struct tool *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say_line(t, fmt, ap);
    va_end(ap);
}

int
tool_fail(struct tool *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say_line(t, fmt, ap);
    va_end(ap);
    return TOOL_FAILED;
}

int
tool_usage(struct tool *t, const char *why)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "%s\n", why);
    tool_describe(t->command, &text);
    say_text(t, &text);
    return TOOL_USAGE;
}

size_t
tool_words(const struct tool *t)
{
    return t->args->len;
}

struct slice
tool_word(const struct tool *t, size_t i)
{
    return slice_str(t->args->words[i]);
}

const char *
tool_option(const struct tool *t, const char *name)
{
    return tool_args_get(t->args, name);
}

bool
tool_is_verbose(const struct tool *t)
{
    return tool_option(t, "--verbose") != NULL || tool_option(t, "-v") != NULL;
}

void
tool_describe(const struct tool_command *c, struct buf *out)
{
    buf_printf(out, "Usage: %s", c->usage);
    tool_args_describe(c->options, tool_common_options, out);
}
