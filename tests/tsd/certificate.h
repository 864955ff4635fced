/* Certificates for tests, made anew each time. */
#pragma once

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <time.h>

#include "tests/harness.h"

static inline void
write_pem(const char *path, const gnutls_datum_t *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text->data, 1, text->size, f), text->size);
    ck_assert_int_eq(fclose(f), 0);
}

/* For "localhost", signed by itself. */
static inline void
make_certificate(const char *cert_path, const char *key_path, unsigned serial)
{
    const uint8_t number = (uint8_t)serial;
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t cert;
    gnutls_datum_t text;

    ck_assert_int_eq(gnutls_x509_privkey_init(&key), 0);
    ck_assert_int_eq(gnutls_x509_privkey_generate(
                         key, GNUTLS_PK_ECDSA,
                         GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
                     0);
    ck_assert_int_eq(gnutls_x509_crt_init(&cert), 0);
    ck_assert_int_eq(gnutls_x509_crt_set_version(cert, 3), 0);
    ck_assert_int_eq(gnutls_x509_crt_set_serial(cert, &number, 1), 0);
    ck_assert_int_eq(gnutls_x509_crt_set_activation_time(cert, time(NULL) - 60),
                     0);
    ck_assert_int_eq(
        gnutls_x509_crt_set_expiration_time(cert, time(NULL) + 86400), 0);
    ck_assert_int_eq(gnutls_x509_crt_set_key(cert, key), 0);
    ck_assert_int_eq(gnutls_x509_crt_set_dn(cert, "CN=localhost", NULL), 0);
    ck_assert_int_eq(
        gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_DNSNAME,
                                             "localhost", 9, GNUTLS_FSAN_SET),
        0);
    ck_assert_int_eq(
        gnutls_x509_crt_sign2(cert, cert, key, GNUTLS_DIG_SHA256, 0), 0);
    ck_assert_int_eq(gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_PEM, &text),
                     0);
    write_pem(cert_path, &text);
    gnutls_free(text.data);
    ck_assert_int_eq(
        gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &text), 0);
    write_pem(key_path, &text);
    gnutls_free(text.data);
    gnutls_x509_crt_deinit(cert);
    gnutls_x509_privkey_deinit(key);
}
