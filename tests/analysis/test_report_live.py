"""The live report: who is answered, what is sent, and how folders that are written into are followed."""

import http.client
import json
import os
import shutil
import signal
import socket
import threading
import time

import pytest

import browser
from figure_studies import TOTAL, WHERE, write_run
from maestro import cli, games
from maestro.analysis import report
from maestro.analysis.report import follow, live
from maestro.analysis.report.follow import Follower, signs_of
from maestro.analysis.report.live import Server
from maestro.runs import lock
from runs_helpers import ENDLESS, PATIENCE, REAL, end_all, micro, new_run, start

POLICY = "default-src 'none'; script-src 'sha256-abc'; connect-src 'self'"
PAGE = f'<!doctype html><head><meta http-equiv="Content-Security-Policy" content="{POLICY}"></head><p>'


def join(data):
    """A stand-in for the page."""
    return PAGE + str(data["runs"])


class Collected:
    """A stand-in for the collecting: counts how often it is asked, and fails when told to."""

    def __init__(self):
        self.times, self.error, self.more = 0, None, {}

    def __call__(self):
        self.times += 1
        if self.error is not None:
            raise self.error
        return {"runs": [self.times], "made": "12:00 UTC", **self.more}


@pytest.fixture
def followed(tmp_path):
    """(the follower of a folder, which does nothing by itself; its stand-in)."""
    run = tmp_path / "run"
    (run / "levels").mkdir(parents=True)
    (run / "metrics.jsonl").write_text('{"updates": 1}\n')
    collected = Collected()
    return Follower([run], collected, join), collected


@pytest.fixture
def server(followed):
    """A server of what was collected once."""
    follower, _ = followed
    follower.refresh()
    with Server(0, follower.newest) as opened:
        thread = threading.Thread(target=lambda: opened.serve_forever(0.01))
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


def ask(server, path=None, method="GET", **headers):
    """(status, headers, body) of one request; a name in `headers` is written with underscores."""
    connection = http.client.HTTPConnection(*server.server_address, timeout=PATIENCE)
    given = {"Host": server.host, **{name.replace("_", "-"): text for name, text in headers.items()}}
    connection.putrequest(method, path or f"/?token={server.token}", skip_host=True)
    for name, text in given.items():
        connection.putheader(name, text)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def raw(server, content):
    """All that is sent back for some bytes."""
    with socket.create_connection(server.server_address, timeout=PATIENCE) as connection:
        connection.sendall(content)
        parts = []
        try:
            while part := connection.recv(65_536):
                parts.append(part)
        except ConnectionResetError:  # closed before all was read
            pass
    return b"".join(parts)


def test_the_page_and_its_data_are_served_with_headers_that_keep_others_out(server):
    status, headers, body = ask(server)
    assert (status, body) == (200, join({"runs": [1]}).encode())
    assert headers["Content-Security-Policy"] == f"{POLICY}; frame-ancestors 'none'"
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    status, headers, body = ask(server, f"/data.json?token={server.token}", Sec_Fetch_Site="same-origin")
    data = json.loads(body)
    assert (status, data["runs"], data["live"]) == (200, [1], True) and set(follow.EMPTY) <= set(data)
    assert headers["Content-Type"] == "application/json; charset=utf-8"
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    for name, value in live.HEADERS.items():
        assert headers[name] == value
    assert "Server" not in headers and "Access-Control-Allow-Origin" not in headers
    assert {"no-store", "no-referrer", "nosniff", "DENY"} < set(live.HEADERS.values())
    assert live.HEADERS["Cross-Origin-Resource-Policy"] == "same-origin"


def test_only_this_machine_can_connect(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.address.startswith(f"http://127.0.0.1:{server.server_address[1]}/?token=")


def test_every_server_has_a_long_token_of_its_own(server):
    with Server(0, server.newest) as other:
        assert other.token != server.token and len(other.token) >= 32


STRANGERS = {
    "no host": {"Host": ""},
    "a name that leads here": {"Host": "localhost:{port}"},
    "somebody's name": {"Host": "evil.example:{port}"},
    "another port": {"Host": "127.0.0.1:1"},
    "no port": {"Host": "127.0.0.1"},
    "another origin": {"Origin": "http://evil.example"},
    "this machine's other server": {"Origin": "http://127.0.0.1:1"},
    "no origin to speak of": {"Origin": "null"},
    "another site's page": {"Sec_Fetch_Site": "cross-site"},
    "a neighbour's page": {"Sec_Fetch_Site": "same-site"},
}


@pytest.mark.parametrize("name", STRANGERS)
@pytest.mark.parametrize("path", ["/", "/data.json"])
def test_strangers_are_refused_though_they_know_the_token(server, name, path):
    told = {key: text.format(port=server.server_address[1]) for key, text in STRANGERS[name].items()}
    status, headers, body = ask(server, f"{path}?token={server.token}", **told)
    assert (status, body) == (403, live.REFUSED.encode()) and headers["X-Frame-Options"] == "DENY"


WRONG = (
    *("", "?token=", "?token=wrong", "?token={half}", "?token={token}x", "?token={token}&token={token}"),
    *("?Token={token}", "?token=%ff%fe", "?token=\u00e9", "?a&b&c&d&e&token={token}"),
)


@pytest.mark.parametrize("query", WRONG)
@pytest.mark.parametrize("path", ["/", "/data.json", "/nothing"])
def test_nothing_is_told_without_the_token(server, query, path):
    typed = path + query.format(token=server.token, half=server.token[:16])
    request = f"GET {typed} HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode("latin-1")
    assert raw(server, request).startswith(b"HTTP/1.0 403 ")


def test_a_page_opened_by_hand_is_answered(server):
    assert ask(server, Sec_Fetch_Site="none")[0] == 200
    assert ask(server, Origin=f"http://{server.host}", Sec_Fetch_Site="same-origin")[0] == 200


@pytest.mark.parametrize(
    "path",
    ["/data", "/data.json/", "/index.html", "/../etc/passwd", "/%64ata.json", "/run/metrics.jsonl", "/.//"],
)
def test_no_file_is_served_by_name(server, path):
    status, _, body = ask(server, f"{path}?token={server.token}")
    assert (status, body) == (404, b"there is nothing here")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "get", "FOO"])
def test_other_methods_are_refused_without_an_echo(server, method):
    status, headers, body = ask(server, method=method, X_Hostile="<script>")
    assert (status, body) == (405, b"only GET and HEAD") and headers["X-Content-Type-Options"] == "nosniff"


def test_a_head_has_the_headers_of_a_get_and_no_body(server):
    request = f"HEAD /?token={server.token} HTTP/1.1\r\nHost: {server.host}\r\n\r\n"
    status, *headers = raw(server, request.encode()).decode().split("\r\n")
    assert status == "HTTP/1.0 200 OK" and headers[-2:] == ["", ""]
    assert f"Content-Length: {len(join({'runs': [1]}))}" in headers
    assert ask(server, "/", method="HEAD")[0] == 403


NONSENSE = {
    "another protocol": b"\x16\x03\x01\x02\x00\r\n\r\n",
    "one word": b"GET\r\n\r\n",
    "a version of the future": b"GET / HTTP/9.9\r\n\r\n",
    "nothing": b"\r\n\r\n",
    "no address": b"GET //[?token=1 HTTP/1.1\r\nHost: x\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n",
    "a long header": b"GET / HTTP/1.1\r\nX: " + b"a" * live.HEAD * 4 + b"\r\n\r\n",
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_gets_an_error_or_nothing_and_the_next_request_its_answer(server, name, capfd):
    answer = raw(server, NONSENSE[name])
    assert b" 200 " not in answer and b"Traceback" not in answer
    assert ask(server)[0] == 200
    assert capfd.readouterr() == ("", "")


def test_a_request_that_never_ends_is_dropped_and_many_of_them_hinder_nobody(server, monkeypatch, capfd):
    monkeypatch.setattr(live, "TIMEOUT", 0.3)
    idle = [socket.create_connection(server.server_address, timeout=PATIENCE) for _ in range(2 * live.ROOM)]
    for connection in idle[::2]:
        connection.sendall(b"GET / HTTP/1.1\r\nX:")
    assert ask(server)[0] == 200
    for connection in idle:
        assert connection.recv(1) == b""  # hung up on
        connection.close()
    assert capfd.readouterr() == ("", "")


def test_one_byte_now_and_then_does_not_hold_a_request_open(monkeypatch):
    monkeypatch.setattr(live, "TIMEOUT", 0.3)
    near, far = socket.socketpair()
    ended = threading.Event()

    def drip():
        for _ in range(100):
            if not ended.wait(0.05):
                far.send(b"a")
        far.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        with pytest.raises(TimeoutError):
            live.head(near)
    finally:
        ended.set()
        thread.join()
        near.close()
        far.close()


def test_a_request_that_is_too_long_is_not_read_to_its_end():
    near, far = socket.socketpair()
    with near, far:
        far.sendall(b"a" * (live.HEAD + 4096))
        with pytest.raises(ConnectionAbortedError):
            live.head(near)


def test_more_requests_than_there_is_room_for_wait_their_turn(followed, monkeypatch):
    monkeypatch.setattr(live, "ROOM", 2)
    inside, most, gate = [], [], threading.Event()

    def newest():
        inside.append(1)
        most.append(len(inside))
        gate.wait(PATIENCE)
        inside.pop()
        return followed[0].newest()

    with Server(0, newest) as opened:
        threading.Thread(target=lambda: opened.serve_forever(0.01), daemon=True).start()
        found = []
        threads = [threading.Thread(target=lambda: found.append(ask(opened)[0])) for _ in range(6)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(inside) >= 2)
        gate.set()
        for thread in threads:
            thread.join()
        opened.shutdown()
    assert found == [200] * 6 and max(most) <= 2


def wait_until(true):
    """Until something holds."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def test_a_page_without_a_policy_may_do_nothing():
    assert live.policy("<p>no policy") == live.STRICT
    assert live.policy(PAGE.replace("'self'", "&#39;self&#39;")) == POLICY


def test_files_are_read_again_when_they_have_changed_and_someone_asks(followed):
    follower, collected = followed
    follower.newest()
    follower.look()
    assert collected.times == 1 and follower.newest().data["runs"] == [1]
    follower.look()
    assert collected.times == 1  # nothing is new
    with (follower.paths[0] / "metrics.jsonl").open("a") as file:
        file.write('{"upd')  # torn, and yet news
    follower.look()
    assert collected.times == 2
    (follower.paths[0] / "levels" / "000000001.safetensors").touch()
    follower.look()
    assert collected.times == 2  # nobody has asked since
    follower.newest()
    follower.look()
    assert collected.times == 3


def test_what_is_quiet_for_long_is_read_again_as_a_process_may_have_died(followed, monkeypatch):
    follower, collected = followed
    monkeypatch.setattr(follow, "QUIET", 0.0)
    for _ in range(2):
        follower.newest()
        follower.look()
    assert collected.times == 2


def test_slow_collecting_is_done_less_often(followed, monkeypatch):
    follower, _ = followed
    times = iter([100.0, 102.0])
    monkeypatch.setattr(follow.time, "monotonic", lambda: next(times))
    follower.newest()
    follower.look()
    assert follower.pause == 20.0


@pytest.mark.parametrize("change", ["levels", "status.json", "evaluation.jsonl", "deep"])
def test_news_shows_in_the_signs(tmp_path, change):
    run = tmp_path / "study" / "runs" / "one"
    (run / "levels").mkdir(parents=True)
    (run / "status.json").write_text("{}")
    before = signs_of(tmp_path / "study")
    assert before == signs_of(tmp_path / "study")
    news = {"levels": run / "levels" / "1", "deep": tmp_path / "study" / "runs" / "two"}
    news.get(change, run / change).write_text("{ }")
    assert signs_of(tmp_path / "study") != before


def test_what_is_not_there_has_no_signs(tmp_path):
    assert signs_of(tmp_path / "nothing") == []
    (tmp_path / "status.json").symlink_to(tmp_path / "nothing")
    assert (str(tmp_path / "status.json"), 0, 0) in signs_of(tmp_path)


def test_a_run_that_is_not_there_yet_is_waited_for(tmp_path):
    collected = Collected()
    follower = Follower([tmp_path / "run"], collected, join)
    assert follower.newest().data["question"] == f"Waiting for {tmp_path / 'run'}."
    collected.error = ValueError("no run")
    follower.look()
    assert follower.newest().data["notice"] == f"{tmp_path / 'run'} is not there yet"
    (tmp_path / "run").mkdir()
    follower.look()
    assert follower.newest().data["notice"] == f"{tmp_path / 'run'} cannot be read now (no run)"
    collected.error = None
    (tmp_path / "run" / "config.toml").touch()
    follower.look()
    assert follower.newest().data["notice"] is None and follower.newest().data["runs"] == [3]


def test_a_run_that_vanishes_leaves_what_was_known(followed):
    follower, collected = followed
    follower.newest()
    follower.look()
    shutil.rmtree(follower.paths[0])
    collected.error = FileNotFoundError(2, "No such file or directory")
    follower.newest()
    follower.look()
    data = follower.newest().data
    assert data["runs"] == [1]
    assert data["notice"] == f"{follower.paths[0]} is gone; this is what was known at 12:00 UTC"


def test_data_that_cannot_be_sent_are_not(followed):
    follower, collected = followed
    collected.more = {"scenes": [object()]}
    follower.refresh()
    assert "not JSON serializable" in follower.newest().data["notice"] and follower.newest().json


def test_collecting_goes_on_in_the_background_until_the_end(followed, monkeypatch):
    follower, _ = followed
    monkeypatch.setattr(follow, "EVERY", 0.01)
    with follower:
        wait_until(lambda: follower.newest().data["runs"] == [1])
        os.utime(follower.paths[0] / "levels")
        wait_until(lambda: follower.newest().data["runs"] == [2])
    assert follower.stopped.is_set()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a run with a log and levels, of a game that pages cannot draw."""
    games.find(WHERE)
    folder = tmp_path_factory.mktemp("live") / "run"
    write_run(folder, "maestro")
    return folder


def real(folder):
    """A follower of what is really in a folder."""
    return Follower([folder], lambda: report.collect([folder], report.Choice(live=True)), report.page)


def test_a_real_run_is_collected_though_its_last_line_is_torn(trained):
    follower = real(trained)
    follower.refresh()
    whole = follower.newest().data
    assert whole["notice"] is None and whole["live"] and whole["runs"][0]["updates"] == TOTAL
    assert whole["runs"][0]["curriculum"]["moments"] and not whole["games"] and not whole["figures"]
    with (trained / "metrics.jsonl").open("a") as file:
        file.write('{"updates": 9, "student_ret')
    (trained / "levels" / "000000009.safetensors").write_bytes(b"half a fi")
    (trained / "status.json").write_text("{")
    follower.refresh()
    torn = follower.newest().data
    assert {**torn, "made": ""} == {**whole, "made": ""}


def test_the_real_page_may_ask_its_own_server_and_nobody_else(trained):
    follower = real(trained)
    follower.refresh()
    allowed = live.policy(follower.newest().page)
    assert "connect-src 'self'" in allowed and "default-src 'none'" in allowed
    assert "script-src 'sha256-" in allowed and "style-src 'sha256-" in allowed and "unsafe" not in allowed


def test_what_is_collected_writes_nothing_and_leaves_the_lock_to_the_training(trained):
    before = {path: path.stat().st_mtime_ns for path in trained.rglob("*")}
    with lock.hold(trained):
        real(trained).refresh()
        assert lock.is_held(trained)
    (trained / "lock").unlink()
    assert {path: path.stat().st_mtime_ns for path in trained.rglob("*")} == before


def test_a_port_in_use_and_one_that_nobody_may_have_are_mistakes(capsys, server, tmp_path):
    used = str(server.server_address[1])
    for port, told in ((used, f"--port: {used} cannot be had"), ("80", "--port: 80 is neither")):
        code = cli.run(["report", "--live", str(tmp_path), "--port", port])
        assert code == 2 and told in capsys.readouterr().err


@pytest.fixture
def processes_end():
    yield
    end_all()


def shown_updates(page):
    """How far the page says that the run is; -1 while it does not."""
    cells = page.locator("#tables tr", has=page.get_by_text("maestro", exact=True)).first.locator("td, th")
    texts = cells.all_inner_texts() if cells.count() else []
    return int(texts[3].replace(",", "")) if len(texts) > 3 else -1


@pytest.mark.long
def test_the_page_follows_a_run_while_it_trains_without_being_loaded_again(chromium, tmp_path, processes_end):
    run = tmp_path / "runs" / "one"
    following = start("report", "--live", run, "--game", "probes:RACE", program=REAL)
    address, _, rest = following.stdout.readline().partition("  ")
    assert rest == f"follows {run}; Ctrl-C ends it\n"
    with browser.opened(chromium, address, own=address.partition("?")[0]) as watched:
        page = watched.page
        page.evaluate("window.same = true")
        page.get_by_text(f"{run} is not there yet").wait_for(timeout=1000 * PATIENCE)
        training = start(*new_run(run, micro(schedule=ENDLESS), beside=tmp_path), WINDOW="4")
        wait_until(lambda: shown_updates(page) > 0)
        before = shown_updates(page)
        wait_until(lambda: shown_updates(page) > before)
        watched.keep("report-live")
        training.kill()
        training.wait()
        shutil.rmtree(run)
        page.get_by_text(f"{run} is gone; this is what was known at").wait_for(timeout=1000 * PATIENCE)
        assert shown_updates(page) > 0 and page.evaluate("window.same")
        watched.check()
        following.send_signal(signal.SIGINT)
        out, errors = following.communicate(timeout=PATIENCE)
        assert (following.returncode, out, errors) == (130, "", "maestro: interrupted\n")
        page.get_by_text("does not answer any more").wait_for(timeout=1000 * PATIENCE)
        assert shown_updates(page) > 0
