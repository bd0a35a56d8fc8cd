"""The picture beside a link to a version shows what its page leads with."""

from __future__ import annotations

import io
import re

import pytest
from PIL import Image

from frontend.parts.link_picture import HEIGHT, WIDTH, LinkPicture, draw
from frontend.presenters import version_evidence, version_head
from registry.models import RegisteredModel, Version
from tests import factories, proven, timed

PAGE = "/models/ada/net/v/1"
SHORT = LinkPicture("ada", "net", 1, "Digits.", (("1 ms", "p50"),), "Runs.", "pass", ("conv",))


def pixels(content):
    with Image.open(io.BytesIO(content)) as image:
        assert (image.format, image.size) == ("PNG", (WIDTH, HEIGHT))
        return image.convert("RGB")


def colours(content, box):
    return {colour for _, colour in pixels(content).crop(box).getcolors(WIDTH * HEIGHT)}


def test_the_operators_stand_in_their_colours_and_order():
    image = pixels(draw(LinkPicture(**fields(cells=("conv", "matmul", "unheard-of")))))
    line = [image.getpixel((x, 385)) for x in (70, 600, 1130)]
    assert line == [(0x25, 0x63, 0xC9), (0x96, 0x37, 0x9C), (0x86, 0x87, 0x7B)]


def fields(**changes):
    return {name: getattr(SHORT, name) for name in SHORT.__slots__} | changes


@pytest.mark.parametrize("tone", ["", "pass", "part", "fail"])
def test_the_evidence_has_the_colour_of_its_tone(tone):
    dot = pixels(draw(LinkPicture(**fields(tone=tone)))).getpixel((74, 571))
    expected = {"": 0x6F7166, "pass": 0x0F6E3D, "part": 0x8A5300, "fail": 0xB3261E}[tone]
    assert dot == (expected >> 16, expected >> 8 & 255, expected & 255)


def test_the_longest_names_stay_inside():
    long = LinkPicture(
        **fields(name="m" * 96, evidence="w " * 200, figures=(("9" * 60, "x" * 90),))
    )
    paper = {(0xF6, 0xF6, 0xF2)}
    assert colours(draw(long), (WIDTH - 60, 20, WIDTH, HEIGHT)) == paper


def test_a_summary_that_the_font_lacks_is_left_out():
    plain = draw(LinkPicture(**fields(summary="")))
    assert draw(LinkPicture(**fields(summary="数字を見分ける"))) == plain
    assert draw(SHORT) != plain


@pytest.mark.django_db
@pytest.mark.usefixtures("graphs")
class TestOfAVersion:
    @pytest.fixture
    def version(self, ada):
        return factories.version(ada)

    def test_it_leads_with_what_the_page_leads_with(self, version):
        proven.conformance(version, [proven.measure("reference", datasets=16)])
        run = timed.benchmark(version, 0.19, deliver=False)
        version = Version.objects.get(pk=version.pk)
        variant = version_head.main_variant(version)
        of = version_evidence.read(version, variant, may_have=True)
        picture = version_evidence.picture(version, variant, of)
        assert (picture.namespace, picture.name, picture.number) == ("ada", "net", 1)
        assert picture.figures[0] == ("0.19\u202fms", f"p50, {run.device_title}")
        assert picture.evidence.startswith("Runs on ONNX Runtime; equals the ONNX reference")
        assert picture.tone == "pass"

    def test_microseconds_are_written_with_letters_that_the_font_has(self, version):
        timed.benchmark(version, 0.0147, deliver=False)
        variant = version_head.main_variant(version)
        of = version_evidence.read(version, variant, may_have=True)
        assert "14.7\u202f\xb5s" in str(of.sentence)
        picture = version_evidence.picture(version, variant, of)
        assert picture.figures[0][0] == "0.0147\u202fms"
        assert "\xb5" not in picture.evidence

    def test_the_page_names_it_and_it_is_a_picture(self, guest, version):
        html = guest.page(PAGE)
        url = re.search('<meta property="og:image" content="([^"]*)">', html)[1]
        assert url == f"http://testserver{PAGE}/picture.png"
        answer = guest.get(f"{PAGE}/picture.png")
        assert answer["Content-Type"] == "image/png"
        pixels(answer.content)
        again = guest.get(f"{PAGE}/picture.png", HTTP_IF_NONE_MATCH=answer["ETag"])
        assert again.status_code == 304

    def test_that_of_a_private_model_is_its_readers(self, guest, reader, version):
        RegisteredModel.objects.update(visibility="private")
        assert guest.get(f"{PAGE}/picture.png").status_code == 404
        assert reader.get(f"{PAGE}/picture.png").status_code == 200
