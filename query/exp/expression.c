/* The work of an expression: JEXL 2.1's arithmetic, for the kinds of values
 * that can occur.  Two things differ from what one would write: a division by
 * zero gives 0, and NaN equals itself and is less than any number. */
#include "query/exp/expression.h"
#include "query/exp/expression_priv.h"

#include <math.h>

#include "base/text/java.h"

static struct value
of_double(double d)
{
    return (struct value){ .kind = VALUE_DOUBLE, .d = d };
}

static struct value
of_integer(int64_t i)
{
    return (struct value){ .kind = VALUE_INTEGER, .i = i };
}

static struct value
of_truth(bool b)
{
    return (struct value){ .kind = VALUE_TRUTH, .i = b };
}

static const struct value fault = { .kind = VALUE_FAULT, .i = 0 };

static bool
is_real(struct value v)
{
    return v.kind == VALUE_DOUBLE || v.kind == VALUE_FLOAT;
}

/* null is 0, and a truth 1 or 0. */
static double
to_double(struct value v)
{
    return is_real(v) ? v.d : (double)v.i;
}

static bool
to_truth(struct value v)
{
    return !isnan(to_double(v)) && to_double(v) != 0;
}

/* As a double, any number is 0 to JEXL here. */
static int64_t
to_bits(struct value v)
{
    if (v.kind == VALUE_DOUBLE)
        return 0;
    return v.kind == VALUE_FLOAT ? java_long(v.d) : v.i;
}

static struct value
real_arithmetic(enum expression_op op, double l, double r)
{
    if (op == OP_ADD)
        return of_double(l + r);
    if (op == OP_SUBTRACT)
        return of_double(l - r);
    if (op == OP_MULTIPLY)
        return of_double(l * r);
    if (r == 0)
        return of_double(0);
    return of_double(op == OP_DIVIDE ? l / r : fmod(l, r));
}

/* Where 64 bits do not hold the result, a double does nearly. */
static struct value
integer_arithmetic(enum expression_op op, int64_t l, int64_t r)
{
    bool overflow = false;
    int64_t i = 0;
    struct value v;

    if (op == OP_ADD)
        overflow = __builtin_add_overflow(l, r, &i);
    else if (op == OP_SUBTRACT)
        overflow = __builtin_sub_overflow(l, r, &i);
    else if (op == OP_MULTIPLY)
        overflow = __builtin_mul_overflow(l, r, &i);
    else if (r == 0 || (op == OP_MODULO && r < 0))
        return of_double(0);
    else if (op == OP_MODULO)
        i = l % r < 0 ? l % r + r : l % r;
    else if (l == INT64_MIN && r == -1)
        overflow = true;
    else
        i = l / r;
    if (!overflow)
        return of_integer(i);
    v = real_arithmetic(op, (double)l, (double)r);
    v.kind = VALUE_FLOAT;
    return v;
}

static int
compare_values(struct value l, struct value r)
{
    double x = to_double(l), y = to_double(r);

    if (!is_real(l) && !is_real(r))
        return (l.i > r.i) - (l.i < r.i);
    if (isnan(x) || isnan(y))
        return (int)isnan(y) - (int)isnan(x);
    return (x > y) - (x < y);
}

static bool
equal(struct value l, struct value r)
{
    if (l.kind == VALUE_NULL || r.kind == VALUE_NULL)
        return l.kind == r.kind;
    if (l.kind == VALUE_TRUTH || r.kind == VALUE_TRUTH)
        return to_truth(l) == to_truth(r);
    return compare_values(l, r) == 0;
}

static struct value
unary(enum expression_op op, struct value v)
{
    if (v.kind == VALUE_FAULT)
        return v;
    if (op == OP_NEGATE) {
        if (v.kind == VALUE_TRUTH)
            return of_truth(v.i == 0);
        if (v.kind == VALUE_INTEGER)
            return integer_arithmetic(OP_SUBTRACT, 0, v.i);
        if (!is_real(v))
            return fault;
        v.d = -v.d;
        return v;
    }
    return op == OP_NOT ? of_truth(!to_truth(v)) : of_integer(~to_bits(v));
}

static struct value
binary(enum expression_op op, struct value l, struct value r)
{
    int c;

    if (op == OP_AND || op == OP_OR || op == OP_ELVIS) {
        /* The second value of these counts only if the first does not decide.
         */
        if (l.kind == VALUE_FAULT)
            return l;
        if (op == OP_ELVIS)
            return to_truth(l) ? l : r;
        if (to_truth(l) == (op == OP_OR))
            return of_truth(op == OP_OR);
        return r.kind == VALUE_FAULT ? r : of_truth(to_truth(r));
    }
    if (l.kind == VALUE_FAULT || r.kind == VALUE_FAULT)
        return fault;
    if (op == OP_BIT_AND)
        return of_integer(to_bits(l) & to_bits(r));
    if (op == OP_BIT_OR)
        return of_integer(to_bits(l) | to_bits(r));
    if (op == OP_BIT_XOR)
        return of_integer(to_bits(l) ^ to_bits(r));
    if (op >= OP_ADD && op <= OP_MODULO) {
        /* A truth counts as 1 or 0 beside a real number, but not among
         * integers. */
        if (is_real(l) || is_real(r))
            return real_arithmetic(op, to_double(l), to_double(r));
        if (l.kind == VALUE_NULL && r.kind == VALUE_NULL)
            return of_integer(0);
        if (l.kind == VALUE_TRUTH || r.kind == VALUE_TRUTH)
            return op == OP_DIVIDE || op == OP_MODULO ? of_double(0) : fault;
        return integer_arithmetic(op, l.i, r.i);
    }
    if (op == OP_EQUAL || op == OP_NOT_EQUAL)
        return of_truth(equal(l, r) == (op == OP_EQUAL));
    if (l.kind == VALUE_NULL || r.kind == VALUE_NULL)
        return of_truth(l.kind == r.kind &&
                        (op == OP_LESS_EQUAL || op == OP_GREATER_EQUAL));
    c = compare_values(l, r);
    if (op == OP_LESS)
        return of_truth(c < 0);
    if (op == OP_GREATER)
        return of_truth(c > 0);
    return of_truth(op == OP_LESS_EQUAL ? c <= 0 : c >= 0);
}

/* Does a step; 'n' values lie on the stack before, the result is how many do
 * after. */
static size_t
step_run(const struct expression_step *s, const double *values,
         struct value *stack, size_t n)
{
    struct value *last = n == 0 ? stack : &stack[n - 1];

    if (s->op == OP_NAME || s->op == OP_CONSTANT) {
        stack[n] = s->op == OP_NAME ? of_double(values[s->name]) : s->value;
        return n + 1;
    }
    if (s->op == OP_CHOOSE) {
        /* NOLINTNEXTLINE(clang-analyzer-core.*): three values are there */
        if (last[-2].kind != VALUE_FAULT)
            last[-2] = to_truth(last[-2]) ? last[-1] : last[0];
        return n - 2;
    }
    if (s->op == OP_NEGATE || s->op == OP_NOT || s->op == OP_BIT_NOT) {
        *last = unary(s->op, *last);
        return n;
    }
    last[-1] = binary(s->op, last[-1], last[0]);
    return n - 1;
}

size_t
expression_steps(const struct expression *x)
{
    return x->steps_len;
}

enum status
expression_run(const struct expression *x, const double *values, double *out,
               struct error *e)
{
    struct value stack[EXPRESSION_DEPTH_MAX];
    size_t n = 0;

    for (size_t i = 0; i < x->steps_len; i++)
        n = step_run(&x->steps[i], values, stack, n);
    /* There is a step, and it leaves a value.
     * NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    if (stack[0].kind != VALUE_DOUBLE && stack[0].kind != VALUE_TRUTH) {
        static const char *const kinds[] = { "double",  "float", "integer",
                                             "boolean", "null",  "error" };
        int size = (int)(x->text.size < 200 ? x->text.size : 200);

        return error_set(
            e, ST_INVALID,
            "Expression returned a result of type: %s for \"%.*s\"",
            kinds[stack[0].kind], size, (const char *)x->text.data);
    }
    *out = to_double(stack[0]);
    return ST_OK;
}
