/* See tsd/api/query_pieces.h.  How long the text of a group will be is guessed:
 * pieces should be alike, and their memory be taken at once. */
#include "config.h"

#include "tsd/api/query_pieces.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tsd/api/dps_json.h"

/* Small enough to be dealt out evenly. */
#define PIECE_BYTES ((size_t)256 << 10)

/* A group's text without its points, roughly. */
#define GROUP_BYTES ((size_t)192)
#define TSUID_BYTES ((size_t)48)

struct piece {
    size_t from, to; /* groups */
    size_t guess;
    size_t points;
};

struct job {
    const struct query_pieces_of *of;
    struct piece *pieces;
    struct buf *texts;
    _Atomic size_t bytes; /* written */
    atomic_bool failed;
};

static size_t
guess(const struct query_pieces_of *of, size_t i)
{
    const struct result_group *g = &of->result->groups[i];
    size_t bytes = GROUP_BYTES + dps_json_guess(of->q, &g->dps);

    return of->q->show_tsuids ? bytes + g->tsuids_len * TSUID_BYTES : bytes;
}

/* Cuts the groups; returns how many pieces it takes. */
static size_t
cut(const struct query_pieces_of *of, struct piece *pieces)
{
    struct piece *p = NULL;
    size_t len = 0;

    for (size_t i = 0; i < of->result->groups_len; i++) {
        if (p == NULL || p->guess >= PIECE_BYTES) {
            p = &pieces[len++];
            *p = (struct piece){ .from = i };
        }
        p->to = i + 1;
        p->guess += guess(of, i);
    }
    return len;
}

static const struct result_stats *
stats_of(const struct query_pieces_of *of, const struct result_group *g)
{
    return &of->result->stats[g->sub - of->q->subs];
}

static void
write_piece(void *ctx, size_t i)
{
    static const struct notes none = { .list = NULL };
    struct job *job = ctx;
    const struct query_pieces_of *of = job->of;
    struct piece *p = &job->pieces[i];
    struct buf *b = &job->texts[i];

    buf_init(b, of->max_bytes);
    (void)buf_reserve(b, p->guess < of->max_bytes ? p->guess : 0);
    for (size_t k = p->from; k < p->to && !atomic_load(&job->failed); k++) {
        const struct result_group *g = &of->result->groups[k];
        struct notes notes = none;
        size_t before = b->size;

        notes.always = g->is_split && !of->q->no_annotations;
        if (k > 0)
            buf_put_u8(b, ',');
        p->points += query_json_group(b, of->q, g, NULL, &notes, of->globals,
                                      stats_of(of, g), of->uids);
        before = b->size - before;
        if (b->failed ||
            atomic_fetch_add(&job->bytes, before) + before > of->max_bytes)
            atomic_store(&job->failed, true);
    }
}

bool
query_pieces_write(const struct query_pieces_of *of, struct query_pieces *out)
{
    struct job job = { .of = of };
    size_t bytes = 0;

    for (size_t i = 0; i < of->result->groups_len; i++)
        bytes += guess(of, i);
    if (bytes < 2 * PIECE_BYTES)
        return false;
    /* Each but the last is at least that long. */
    job.pieces = mem_new_array(bytes / PIECE_BYTES + 1, sizeof *job.pieces);
    *out = (struct query_pieces){ .len = cut(of, job.pieces) };
    job.texts = out->list = mem_new_array(out->len, sizeof *out->list);
    engine_share(of->engine, out->len, write_piece, &job);
    for (size_t i = 0; i < out->len; i++)
        out->points += job.pieces[i].points;
    out->failed = job.failed;
    free(job.pieces);
    return true;
}

void
query_pieces_fini(struct query_pieces *p)
{
    for (size_t i = 0; i < p->len; i++)
        buf_fini(&p->list[i]);
    free(p->list);
    *p = (struct query_pieces){ 0 };
}
