#!/usr/bin/python3
"""tests/browser/run.py HALITE [GROUP or TEST ...]: the page in Debian's chromium.

Prints a line a test; 77 where there is no chromium.
"""
import importlib
import os
import shutil
import sys
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def main():
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        print("skipped: no chromium, no chromium-driver")
        return 77
    try:
        import rig
    except ImportError as e:
        print("skipped: no python3-selenium: %s" % e)
        return 77
    program, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    groups = sorted(f[5:-3] for f in os.listdir(os.path.dirname(os.path.abspath(__file__)))
                    if f.startswith("test_") and f.endswith(".py"))
    passed, failed = 0, []
    halite = rig.Halite(program)
    driver = rig.browser()
    try:
        rig.feed(halite)
        for group in groups:
            module = importlib.import_module("test_" + group)
            tests = [(n, f) for n, f in vars(module).items() if n.startswith("test_")]
            if wanted and group not in wanted:
                tests = [(n, f) for n, f in tests if n[5:] in wanted]
            for name, f in tests:
                page, start = rig.Page(driver, halite), time.time()
                verdict = "ok"
                try:
                    page.errors()
                    f(page)
                    bad = page.errors()
                    assert not bad, "the script failed: %s" % bad
                    passed += 1
                except Exception:
                    verdict = "FAILED"
                    failed.append(group + "." + name)
                    traceback.print_exc(file=sys.stdout)
                    if os.environ.get("SHOTS"):
                        driver.save_screenshot(os.path.join(os.environ["SHOTS"], name + ".png"))
                print("%s: %s: %s (%.1f s)" % (group, name[5:].replace("_", " "), verdict,
                                               time.time() - start), flush=True)
    finally:
        rig.close(driver)
        halite.close()
    print("%d passed, %d failed %s" % (passed, len(failed), " ".join(failed)))
    return 1 if failed or not passed else 0


sys.exit(main())
