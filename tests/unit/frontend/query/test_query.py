"""The query page: what is shown of an answer, of an error, and of what would be too much."""

from __future__ import annotations

import pytest

from frontend.pages.query import page as query_page
from frontend.pages.query import results, vocabulary
from hub.protocol import problems
from metadata.sparql import example_queries, service

HOME = "http://testserver"
TSV = "text/tab-separated-values"
JSON = "application/sparql-results+json"

pytestmark = pytest.mark.capability("sparql")


class Fake:
    """A service that answers as it is told and remembers what it was asked."""

    def __init__(self):
        self.asked = []
        self.closed = 0
        self.says = (TSV, b"?x\n1\n")

    def __call__(self, text, **how):
        self.asked.append((text, how))
        if isinstance(self.says, Exception):
            raise self.says
        fake = self

        class Answer:
            media_type = fake.says[0]
            chunks = iter(
                [fake.says[1][index : index + 7] for index in range(0, len(fake.says[1]), 7)]
            )
            size = len(fake.says[1])

            def close(self):
                fake.closed += 1

        return Answer()


@pytest.fixture
def fake(monkeypatch):
    made = Fake()
    monkeypatch.setattr(service, "ask", made)
    return made


def read(kind, *lines):
    return results.read(kind, iter(["\n".join(lines).encode()]))


@pytest.mark.parametrize(
    ("written", "words", "kind", "url"),
    [
        ("", "not bound", "unbound", ""),
        ("12", "12", "number", ""),
        ("-1.5e3", "-1.5e3", "number", ""),
        ('"2"^^<http://www.w3.org/2001/XMLSchema#byte>', "2", "number", ""),
        ('"NaN"^^<http://www.w3.org/2001/XMLSchema#double>', "NaN", "text", ""),
        ("true", "true", "text", ""),
        (r'"a\tb\n\"c\" \\ \u00e9"', 'a\tb\n"c" \\ é', "text", ""),
        ("_:b1", "_:b1", "blank", ""),
        (f"<{HOME}/models/zoo/net/v/3>", "zoo/net@3", "here", "/models/zoo/net/v/3"),
        (f"<{HOME}/models/zoo/net>", "zoo/net", "here", "/models/zoo/net"),
        (
            f"<{HOME}/models/zoo/net/v/3#impact>",
            "zoo/net@3#impact",
            "here",
            "/models/zoo/net/v/3#impact",
        ),
        (f"<{HOME}/nowhere/at/all>", "/nowhere/at/all", "name", ""),
        ("<http://spdx.org/licenses/MIT>", "lic:MIT", "outside", "http://spdx.org/licenses/MIT"),
        ("<https://a.example/b?c>", "https://a.example/b?c", "outside", "https://a.example/b?c"),
        ("<urn:uuid:1>", "urn:uuid:1", "name", ""),
        ("<javascript:alert(1)>", "javascript:alert(1)", "name", ""),
        ("<<( <a:b> <a:c> 1 )>>", "<<( <a:b> <a:c> 1 )>>", "text", ""),
    ],
)
def test_terms(written, words, kind, url):
    cell = results.term(written)
    assert (cell.words, cell.kind, cell.url) == (words, kind, url)


def test_the_language_of_a_text_is_kept():
    assert results.term('"Bonjour"@fr-CA').language == "fr-CA"


def test_long_texts_are_cut():
    cell = results.term(f'"{"x" * 1000}"')
    assert len(cell.words) == results.SHOWN_CHARACTERS
    assert cell.words.endswith("…")


def test_a_table_shows_its_beginning_and_counts_the_rest():
    lines = [f'{index}\t"thing {index}"' for index in range(1000)]
    found = read(TSV, "?n\t?thing", *lines, "")
    assert (found.count, found.capped, found.is_whole) == (1000, False, False)
    assert len(found.rows) == results.ROWS
    assert [(column["name"], column["numeric"]) for column in found.columns] == [
        ("n", True),
        ("thing", False),
    ]


@pytest.mark.parametrize("cell", ["1", "<urn:x>", '"word"@en', ""])
def test_a_table_shows_as_many_rows_as_a_page_has_room_for(cell):
    head = "\t".join(f"?v{index}" for index in range(45))
    found = read(TSV, head, *["\t".join([cell] * 45)] * 30, "")
    row = 1 + sum(cell.elements for cell in found.rows[0])
    room = results.ELEMENTS - len(found.columns)
    assert (len(found.rows), found.count) == (room // row, 30)


def test_one_row_is_shown_however_wide():
    head = "\t".join(f"?v{index}" for index in range(2_000))
    found = read(TSV, head, *["\t".join("1" * 2_000)] * 3, "")
    assert (len(found.rows), found.count) == (1, 3)


def test_a_huge_answer_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(results, "READ_BYTES", 1_000)
    taken = []

    def chunks():
        yield b"?x\n"
        for index in range(1000):
            taken.append(index)
            yield b"1\n" * 50

    found = results.read(TSV, chunks())
    assert found.capped
    assert len(taken) <= 11
    wide = results.read(TSV, iter([b"?x\n", b'"' + b"x" * 2_000 + b'"\n', b"1\n"]))
    assert wide.capped


def test_no_rows_and_no_columns():
    assert read(TSV, "?x", "").count == 0
    empty = read(TSV, "", "", "")
    assert (empty.columns, empty.count) == ((), 1)


@pytest.mark.parametrize(
    ("kind", "text", "truth"),
    [(JSON, '{"head":{},"boolean":false}', False), (TSV, "true", True), (TSV, "false\n", False)],
)
def test_an_ask_is_a_word(kind, text, truth):
    found = read(kind, text)
    assert (found.form, found.truth) == ("ask", truth)


def test_turtle_is_cut_at_a_line():
    text = "<a:b> <a:c> 1 .\n" * 10_000
    found = read("text/turtle; charset=utf-8", text)
    assert found.capped
    assert found.text.endswith(" .")
    assert set(found.text.split("\n")) == {"<a:b> <a:c> 1 ."}


def test_an_answer_in_another_format_is_our_fault():
    with pytest.raises(problems.InternalError):
        read("text/html", "<p>")
    with pytest.raises(problems.InternalError):
        read(JSON, "[]")


def test_an_example_has_an_address_of_its_own(db):
    examples = example_queries.all_of(HOME)
    assert query_page.address(examples[1].query, examples) == f"/query?example={examples[1].slug}"
    assert query_page.address("ASK {}", examples) == "/query?query=ASK%20%7B%7D"
    assert query_page.address("#" * 10_000, examples) == ""


def test_the_command_keeps_what_a_shell_would_read():
    command = query_page.curl("ASK { ?s ?p 'it''s $HOME' }", "text/csv")
    import shlex

    assert shlex.split(command) == [
        "curl", "-H", "Accept: text/csv", "--data-urlencode",
        "query=ASK { ?s ?p 'it''s $HOME' }", f"{HOME}/sparql",
    ]  # fmt: skip


def test_the_place_of_an_error_is_shown_once():
    problem = problems.QueryInvalid("Line 2, column 3: Expected FILTER.", line=2, column=3)
    told = query_page.trouble(problem, "SELECT * {\n  FILTR }")
    assert told["title"] == "Line 2, column 3: not valid SPARQL."
    assert (told["words"], told["before"], told["after"]) == ("Expected FILTER.", "  ", "FILTR }")
    beyond = query_page.trouble(problems.QueryInvalid("x", line=9, column=1), "ASK")
    assert "line" not in beyond


def test_the_vocabulary_has_what_graphs_are_written_in():
    groups = {group.prefix: group for group in vocabulary.groups()}
    own = {term.name: term.values for term in groups["hub"].terms}
    assert own["hub:trainingCO2eKg"] == "decimal"
    assert own["hub:mixedPrecision"] == "boolean"
    assert groups["hub"].iri == f"{HOME}/ns#"


@pytest.mark.django_db
class TestPage:
    def test_nothing_is_asked_before_the_reader_asks(self, guest, fake):
        page = guest.page("/query")
        assert fake.asked == []
        assert 'id="result"' not in page
        assert '<details class="panel folds editing" id="sparql">' in page  # closed
        assert "A query may take 10" in page
        assert page.count("?example=") == 18

    def test_a_permalink_runs_and_shows_rows(self, guest, fake):
        fake.says = (TSV, f"?m\t?n\n<{HOME}/models/zoo/net/v/1>\t5\n\t\n".encode())
        page = guest.page("/query?query=SELECT%20*")
        assert fake.asked[0][0] == "SELECT *"
        assert fake.asked[0][1]["signed_in"] is False
        assert fake.asked[0][1]["client"] == "address-127.0.0.1"
        assert '<a href="/models/zoo/net/v/1"' in page
        assert '<th scope="col" class="num">?n</th>' in page
        assert "not bound" in page
        assert "2 rows in" in page
        assert "/query/result.csv?query=SELECT%20%2A" in page
        assert "--data-urlencode" in page
        assert fake.closed == 1

    def test_a_readers_own_time_counts_for_who_signed_in(self, reader, ada, fake):
        assert "A query may take 30" in reader.page("/query?query=ASK")
        assert fake.asked[0][1]["client"] == f"user-{ada.pk}"
        assert fake.asked[0][1]["signed_in"] is True

    def test_an_example_runs_and_its_number_leads_to_it(self, guest, fake):
        page = guest.page("/query?example=training-carbon")
        assert "trainingCO2eKg" in fake.asked[0][0]
        assert 'aria-current="true"><b>Models by training emissions' in page
        assert guest.get("/query?example=cq02").url == "/query?example=training-carbon"
        guest.page("/query?example=none", status=404)

    def test_a_form_is_sent_on_to_its_permalink(self, guest, fake):
        sent = guest.post("/query", {"query": "ASK {\r\n}"})
        assert (sent.status_code, sent.url) == (302, "/query?query=ASK%20%7B%0A%7D")
        assert guest.post("/query", {"query": " "}).url == "/query"
        assert fake.asked == []

    def test_a_query_too_long_for_an_address_is_answered_at_once(self, guest, fake):
        text = "ASK {}" + "#" * 9_000
        page = guest.post("/query", {"query": text}).content.decode()
        assert fake.asked[0][0] == text
        assert "too long for a link" in page
        assert "Copy link" not in page
        assert "result.csv" not in page

    def test_a_wrong_query_keeps_its_text_and_shows_the_place(self, guest, fake):
        fake.says = problems.QueryInvalid("Line 1, column 8: No <b>.", line=1, column=8)
        page = guest.page("/query?query=SELECT+%3Cscript%3E")
        assert "Line 1, column 8: not valid SPARQL." in page
        assert "No &lt;b&gt;." in page
        assert "&lt;script&gt;</textarea>" in page
        assert 'data-line="1" data-column="8"' in page
        assert "<mark>&lt;script&gt;</mark>" in page

    @pytest.mark.parametrize(
        ("problem", "said"),
        [
            (problems.QueryTimeout("Stopped after 10 s."), "Query timed out"),
            (problems.QueryTooCostly("Too much memory."), "Query too expensive"),
            (problems.Throttled("Slowly.", retry_after=7), "Try again in 7"),
            (problems.Unavailable("Away.", retry_after=5), "temporarily unavailable"),
        ],
    )
    def test_a_limit_is_never_an_empty_result(self, guest, fake, problem, said):
        fake.says = problem
        page = guest.page("/query?query=ASK")
        assert said in page
        assert "not an empty result" in page
        assert "No rows" not in page

    def test_nothing_found_is_said(self, guest, fake):
        fake.says = (TSV, b"?x\n")
        assert "No rows." in guest.page("/query?query=SELECT")
        fake.says = ("text/turtle", b"")
        assert "No triples." in guest.page("/query?query=CONSTRUCT")
        fake.says = (JSON, b'{"boolean": true}')
        assert '<p class="word">Yes</p>' in guest.page("/query?query=ASK")

    def test_what_a_stranger_wrote_is_text(self, guest, fake):
        fake.says = (TSV, b'?x\n"<script>alert(1)</script>"@en\n<javascript:alert(1)>\n')
        page = guest.page("/query?query=SELECT")
        assert "<script>alert" not in page
        assert 'href="javascript' not in page

    def test_the_whole_result_is_a_file(self, guest, fake):
        fake.says = ("text/csv", b"x\n1\n")
        response = guest.get("/query/result.csv?query=SELECT")
        assert b"".join(response.streaming_content) == b"x\n1\n"
        assert fake.asked[0][1]["accept"] == "text/csv"
        assert response["Content-Disposition"] == 'attachment; filename="result.csv"'
        assert guest.get("/query/result.exe?query=SELECT").status_code == 404
        fake.says = problems.QueryTimeout("Stopped.")
        assert guest.get("/query/result.csv?query=SELECT").status_code == 504


def test_help_names_sparql_among_the_documents(guest):
    more = guest.page("/help").partition('id="more"')[2]
    assert '<a href="/docs/sparql">SPARQL</a>' in more
    assert '<a href="/query">' in more
