"""How the page's files are sent."""
import gzip

FILES = ("", "ui/page.js", "ui/page.css")
GZIP = {"Accept-Encoding": "gzip"}
MOST = 60000


def test_sixty_kilobytes_over_all_files(page):
    sizes = [len(page.halite.ask("GET", f, None, GZIP)[1]) for f in FILES]
    sizes.append(len(page.halite.ask("GET", "favicon.ico", None, GZIP)[1]))
    print("bytes:", sizes, sum(sizes))
    assert sum(sizes) <= MOST, sizes


def test_etag_no_cache_policy_nosniff(page):
    for f in FILES:
        r, data = page.halite.ask("GET", f, None, GZIP)
        assert r.getheader("Content-Encoding") == "gzip", f
        assert r.getheader("Cache-Control") == "no-cache"
        assert "default-src 'self'" in r.getheader("Content-Security-Policy")
        assert "script-src" not in r.getheader("Content-Security-Policy")
        assert r.getheader("X-Content-Type-Options") == "nosniff"
        plain, inflated = page.halite.ask("GET", f, None, {"Accept-Encoding": "identity"})
        assert plain.getheader("Content-Encoding") is None
        assert gzip.decompress(data) == inflated
        again, nothing = page.halite.ask("GET", f, None,
                                         {**GZIP, "If-None-Match": r.getheader("ETag")})
        assert again.status == 304 and not nothing
        other, _ = page.halite.ask("GET", f, None, {**GZIP, "If-None-Match": 'W/"0"'})
        assert other.status == 200


def test_without_javascript_it_names_a_picture(page):
    text = page.halite.ask("GET", "")[1].decode()
    assert "<noscript>" in text and "&amp;png" in text[text.index("<noscript>"):]
