"""Sixteen questions that the graphs answer, as SPARQL 1.1: the examples of the query page.

They ask of the newest published version of each model where they list models, so that each is
there once. What a question is about (a version, a data set) is taken from what is public here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser

from metadata.rdf import quads
from metadata.rdf.iris import Places, graph_of
from metadata.rdf.terms import PREFIXES
from registry.cards import mentions, resolution
from registry.models import Mention, Version
from registry.models.registered_models import listed_for_everybody
from runners.benchmarks import selectors
from runners.models import Measurement

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Question:
    """A query with its permalink's word, its title, and one sentence on what it answers."""

    slug: str
    title: str
    words: str
    query: str


# {H} is the hub's address, {V} a version, {D} a data set, {C} a device class; prefixes are added
# where they are used.
_QUESTIONS = (
    Question(
        "language-models-by-size",
        "Language models by size, with who made them",
        "The models for tasks of language from the smallest up, with the bytes of their files and "
        "the creators that their cards name.",
        """
SELECT ?model ?title ?bytes (GROUP_CONCAT(DISTINCT ?name; separator=", ") AS ?creators) WHERE {
  { SELECT ?model (SUM(?size) AS ?bytes) WHERE {
      ?task skos:broader <{H}/tasks/nlp> .
      ?model fair4ml:mlTask ?task ; dcat:distribution ?file .
      ?file dcat:byteSize ?size .
    } GROUP BY ?model }
  ?line dcat:hasCurrentVersion ?model .
  ?model dcterms:title ?title .
  OPTIONAL { ?model dcterms:creator ?creator . ?creator foaf:name ?name }
}
GROUP BY ?model ?title ?bytes
ORDER BY ?bytes ?model
LIMIT 50
""",
    ),
    Question(
        "training-carbon",
        "Models by the carbon of their training",
        "The models whose cards tell the emissions of their training, from the least up, in "
        "kilograms of CO2 equivalents, and whether they were declared, estimated or measured.",
        """
SELECT ?model ?title ?kg ?kind WHERE {
  ?model hub:trainingCO2eKg ?kg ; dcterms:title ?title .
  ?line dcat:hasCurrentVersion ?model .
  OPTIONAL { ?model prov:wasGeneratedBy ?act . ?act it6:hasTrainingImpact ?impact .
             ?impact hub:figureKind ?kind }
}
ORDER BY ?kg ?model
LIMIT 50
""",
    ),
    Question(
        "trained-on-personal-data",
        "Models trained on personal data, or derived from one that was",
        "The models that learned from data said to be personal, themselves or through an ancestor; "
        "data of unknown status are not among them.",
        """
SELECT DISTINCT ?model ?ancestor ?data ?title WHERE {
  ?data dpv:hasPersonalData dpv:PersonalData .
  ?ancestor fair4ml:trainedOn ?data .
  ?model prov:wasDerivedFrom* ?ancestor .
  ?line dcat:hasCurrentVersion ?model .
  OPTIONAL { ?data dcterms:title ?title }
}
ORDER BY ?model ?ancestor ?data
LIMIT 200
""",
    ),
    Question(
        "mixed-precision",
        "Models of mixed precision",
        "The models whose weights are of several types, with these types.",
        """
SELECT ?model ?title (GROUP_CONCAT(DISTINCT STRAFTER(STR(?type), "#dt-"); separator=" ") AS ?types)
WHERE {
  ?model hub:mixedPrecision true ; dcterms:title ?title .
  ?line dcat:hasCurrentVersion ?model .
  OPTIONAL { ?model hub:weightDataType ?type }
}
GROUP BY ?model ?title
ORDER BY ?model
LIMIT 50
""",
    ),
    Question(
        "provenance-of-a-version",
        "Where one version comes from",
        "The ancestors of one version: how each was made, with what, and when, as far as is known.",
        """
SELECT ?ancestor ?title ?step ?tool ?made WHERE {
  <{V}> prov:wasDerivedFrom+ ?ancestor .
  OPTIONAL { ?ancestor dcterms:title ?title ; dcterms:created ?made }
  OPTIONAL {
    ?ancestor prov:wasGeneratedBy ?act .
    ?act a ?step . FILTER(?step NOT IN (prov:Activity, mls:Run))
  }
  OPTIONAL {
    ?ancestor prov:wasGeneratedBy ?how .
    ?how prov:wasAssociatedWith ?with .
    ?with foaf:name ?tool
  }
}
ORDER BY ?ancestor
LIMIT 50
""",
    ),
    Question(
        "best-measured-accuracy",
        "Best measured accuracy on one data set below 50 MB",
        "The small models that workers of this hub found most accurate on one data set; claims of "
        "cards do not count.",
        """
SELECT ?model ?accuracy ?bytes WHERE {
  ?model fair4ml:hasEvaluation ?evaluation .
  ?evaluation dqv:isMeasurementOf <{H}/metrics/accuracy> ;
              fair4ml:evaluationDataset/prov:specializationOf? <{D}> ;
              prov:wasAttributedTo <{H}/agents/worker> ;
              dqv:value ?accuracy .
  { SELECT ?model (SUM(?size) AS ?bytes) WHERE {
      ?model dcat:distribution ?file ; a fair4ml:MLModel .
      ?file dcat:byteSize ?size .
    } GROUP BY ?model }
  FILTER(?bytes < 50000000)
}
ORDER BY DESC(?accuracy) ?model
LIMIT 10
""",
    ),
    Question(
        "models-by-licence",
        "How many models under which licence",
        "Every licence that models have here, with their number; the hub says where none was "
        "given.",
        """
SELECT ?licence (COUNT(DISTINCT ?model) AS ?models) WHERE {
  ?line dcat:hasCurrentVersion ?model .
  ?model dcterms:license ?licence .
}
GROUP BY ?licence
ORDER BY DESC(?models) ?licence
""",
    ),
    Question(
        "models-about-digits",
        "Models whose title or summary speaks of something",
        "The models whose title or summary holds a word; write another in its place.",
        """
SELECT DISTINCT ?model ?title WHERE {
  ?line dcat:hasCurrentVersion ?model .
  ?model dcterms:title ?title .
  ?model dcterms:title|it6:shortDescription ?text .
  FILTER(CONTAINS(LCASE(STR(?text)), "digit"))
}
ORDER BY ?model
LIMIT 50
""",
    ),
    Question(
        "carbon-by-task",
        "Carbon of training by task",
        "For each task how many models tell their emissions, and what these come to in kilograms.",
        """
SELECT ?task (COUNT(?model) AS ?models) (SUM(?kg) AS ?total) (AVG(?kg) AS ?mean) WHERE {
  ?line dcat:hasCurrentVersion ?model .
  ?model fair4ml:mlTask ?task ; hub:trainingCO2eKg ?kg .
}
GROUP BY ?task
ORDER BY DESC(?total) ?task
""",
    ),
    Question(
        "less-accurate-than-claimed",
        "Why a model is less accurate than its card claims",
        "Where a worker measured at least 0.05 less than the card claims, on the same data set and "
        "metric: how the model was made, its types of weights, and a test that it failed.",
        """
SELECT ?model ?metric ?claimed ?measured ?step
       (GROUP_CONCAT(DISTINCT STRAFTER(STR(?type), "#dt-"); separator=" ") AS ?types)
       (SAMPLE(?test) AS ?failed)
WHERE {
  ?model fair4ml:hasEvaluation ?measuring .
  ?measuring prov:wasAttributedTo <{H}/agents/worker> ;
             dqv:isMeasurementOf ?metric ;
             fair4ml:evaluationDataset ?data ;
             dqv:value ?measured .
  ?model fair4ml:hasEvaluation ?claiming .
  ?claiming dqv:isMeasurementOf ?metric ;
            fair4ml:evaluationDataset ?data ;
            prov:wasAttributedTo ?publisher ;
            dqv:value ?claimed .
  FILTER(?publisher != <{H}/agents/worker> && ?claimed - ?measured >= 0.05)
  OPTIONAL {
    ?model prov:wasGeneratedBy ?act .
    ?act a ?step . FILTER(?step NOT IN (prov:Activity, mls:Run))
  }
  OPTIONAL { ?model hub:weightDataType ?type }
  OPTIONAL {
    ?verdict earl:subject ?model ; earl:test ?test ; earl:result ?result .
    ?result earl:outcome earl:failed
  }
}
GROUP BY ?model ?metric ?claimed ?measured ?step
ORDER BY ?model ?metric
LIMIT 50
""",
    ),
    Question(
        "failed-conformance",
        "Models that failed a test on ONNX Runtime",
        "The models of which some variant failed a conformance test on ONNX Runtime, with the test "
        "and what was wrong.",
        """
SELECT DISTINCT ?model ?subject ?test ?reason WHERE {
  ?test dcterms:isPartOf <{H}/tests/onnxruntime> .
  ?verdict earl:test ?test ; earl:subject ?subject ; earl:result ?result .
  ?result earl:outcome earl:failed .
  ?model hub:hasVariant? ?subject .
  ?line dcat:hasCurrentVersion ?model .
  OPTIONAL { ?result earl:info ?reason }
}
ORDER BY ?model ?subject ?test
LIMIT 50
""",
    ),
    Question(
        "expects-bgr-images",
        "Models that expect pictures as BGR",
        "The models whose file says that its pictures have blue before green and red.",
        """
SELECT ?model ?title WHERE {
  ?model hub:bitmapPixelFormat "Bgr8" ; dcterms:title ?title .
  ?line dcat:hasCurrentVersion ?model .
}
ORDER BY ?model
LIMIT 50
""",
    ),
    Question(
        "licence-wider-than-ancestors",
        "Open licence, ancestor for non-commercial use only",
        "The models under an open licence that derive from one whose licence forbids commercial "
        "use.",
        """
SELECT DISTINCT ?model ?licence ?ancestor ?theirs WHERE {
  VALUES ?licence { lic:MIT lic:Apache-2.0 lic:BSD-2-Clause lic:BSD-3-Clause lic:CC0-1.0 }
  VALUES ?theirs { lic:CC-BY-NC-4.0 lic:CC-BY-NC-SA-4.0 lic:CC-BY-NC-ND-4.0 lic:CC-BY-NC-3.0 }
  ?ancestor dcterms:license ?theirs .
  ?model prov:wasDerivedFrom+ ?ancestor .
  ?model dcterms:license ?licence .
  ?line dcat:hasCurrentVersion ?model .
}
ORDER BY ?model ?ancestor
LIMIT 50
""",
    ),
    Question(
        "operator-at-old-opset",
        "Models that use an operator at an old opset",
        "The models that use GridSample at opset 16 or lower, which later opsets changed; write "
        "another operator in its place.",
        """
SELECT ?model ?title ?opset WHERE {
  ?model hub:usesOperator <https://onnx.ai/onnx/operators/onnx__GridSample.html> ;
         hub:opsetVersion ?opset ;
         dcterms:title ?title .
  FILTER(?opset <= 16)
  ?line dcat:hasCurrentVersion ?model .
}
ORDER BY ?model
LIMIT 50
""",
    ),
    Question(
        "fastest-under-a-size",
        "Fastest models below 50 MB on one device",
        "The models that workers of this hub timed on one class of machines, one inference at a "
        "time, the fastest of each comparability key first; across keys nothing is ranked, and "
        "noisy results are left out.",
        """
SELECT ?model ?key ?variant ?p50 ?bytes WHERE {
  ?result hub:device <{C}> ;
          hub:resultStatus "accepted" ;
          prov:wasAttributedTo <{H}/agents/worker> ;
          hub:scenario "single_stream" ;
          hub:comparabilityKey ?key ;
          hub:variant ?variant ;
          hub:hasFigure ?figure .
  ?figure dqv:isMeasurementOf <{H}/metrics/latency-p50> ; dqv:value ?p50 .
  ?model hub:hasBenchmark ?result .
  ?line dcat:hasCurrentVersion ?model .
  { SELECT ?model (SUM(?size) AS ?bytes) WHERE {
      ?model dcat:distribution ?file ; a fair4ml:MLModel .
      ?file dcat:byteSize ?size .
    } GROUP BY ?model }
  FILTER(?bytes <= 50000000)
}
ORDER BY ?key ?p50 ?result
LIMIT 100
""",
    ),
    Question(
        "everything-about-a-version",
        "Everything about one version",
        "The whole graph of one version, as its address with the ending .ttl gives it.",
        """
CONSTRUCT { ?subject ?predicate ?object } WHERE {
  GRAPH <{G}> { ?subject ?predicate ?object }
}
""",
    ),
)
_USED = re.compile(r"\b([a-z0-9]+):[A-Za-z]")


def all_of(home: str) -> tuple[Question, ...]:
    """Every question to the hub at ``home``, about what is public there."""
    return filled(home, about(home))


def find(slug: str, home: str) -> Question | None:
    """The question of that name, about what is public at ``home``."""
    if slug not in {question.slug for question in _QUESTIONS}:
        return None
    return next(question for question in all_of(home) if question.slug == slug)


def filled(home: str, subject: Mapping[str, str]) -> tuple[Question, ...]:
    """Every question about ``subject``: the IRIs of a version ``V`` and of a data set ``D``.

    And that of a device class ``C``; without one, a class that nobody has is meant.
    """
    values = {"H": home, "G": graph_of(subject["V"]), "C": f"{home}/devices/none", **subject}
    return tuple(
        Question(one.slug, one.title, one.words, _written(one.query.strip(), values))
        for one in _QUESTIONS
    )


def about(home: str) -> dict[str, str]:
    """What the questions are asked about: the newest public version that names a base, or any.

    And the data set that the newest public card names. Where there are none yet, the first sample
    and its data set are.
    """
    places = Places(home)
    rows = Version.objects.filter(listed_for_everybody("model__"), state__in=Version.SERVED)
    newest = rows.select_related("model__namespace").order_by("-pk")
    bases = Mention.objects.filter(kind=Mention.Kind.MODEL).values("version")
    version = newest.filter(pk__in=bases).first() or newest.first()
    named = Mention.objects.filter(kind=Mention.Kind.DATASET, version__in=rows).order_by("-pk")
    mention = named.select_related("version__model__namespace").first()
    return {
        "V": places.version(version.model.namespace.slug, version.model.name, version.number)
        if version
        else places.version("zoo", "digits-cnn", 1),
        "D": _dataset(places, mention) if mention else "https://doi.org/10.24432/C50P49",
        "C": places.device(_device()),
    }


def _device() -> str:
    """The device class on which a public model was measured last."""
    rows = selectors.trusted(AnonymousUser()).filter(status=Measurement.Status.ACCEPTED)
    newest = rows.order_by("-pk").values_list("device", flat=True)[:1]
    return next(iter(newest), "none")


def _dataset(places: Places, mention: Mention) -> str:
    """The IRI by which graphs compare results on a data set that a card names."""
    card, model = mention.version.card, mention.version.model
    written = mentions.dataset_names(card)
    name = next((one for one in written if mentions.key(one) == mention.name), mention.name)
    for entry in resolution.datasets_of(model, [name]).values():
        return places.dataset(entry.slug)
    iri = quads.foreign(mentions.name(name)) or resolution.elsewhere(name, dataset=True)
    version = places.version(model.namespace.slug, model.name, mention.version.number)
    return iri or f"{version}#data-{quads.part(mention.name)}"


def _written(query: str, values: Mapping[str, str]) -> str:
    """A query with its values, below the prefixes that it uses."""
    text = query
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    known = PREFIXES | {"hub": Places(values["H"]).term("")}
    bare = re.sub(r"<[^>]*>|\"[^\"]*\"", "", text)
    used = sorted(set(_USED.findall(bare)) & set(known))
    prologue = "".join(f"PREFIX {prefix}: <{known[prefix]}>\n" for prefix in used)
    return f"{prologue}{text}\n"
