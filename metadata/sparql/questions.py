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
        "Language models by size, with their creators",
        "Models for language tasks, smallest first, with their file size and the creators named "
        "on their cards.",
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
        "Models by training emissions",
        "Models whose cards state their training emissions, lowest first, in kilograms of CO2 "
        "equivalents, and whether these were declared, estimated or measured.",
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
        "Models trained on personal data, directly or through an ancestor",
        "Models trained on data declared as personal, directly or through an ancestor. Data of "
        "unknown status are not included.",
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
        "Models with mixed precision",
        "Models whose weights have several data types, with these types.",
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
        "Ancestors of one version",
        "All ancestors of a version: how, with what and when each was made, as far as known.",
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
        "The small models that were most accurate on one data set when measured by workers of "
        "this hub. Claims on cards do not count.",
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
        "Number of models per licence",
        "Every licence used on this hub, with its number of models, including models without a "
        "licence.",
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
        "Models whose title or summary contains a word",
        "Models whose title or summary contains a word. Replace the word with your own.",
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
        "Training emissions by task",
        "For each task, the number of models that state their emissions, and the total in "
        "kilograms.",
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
        "Models for which a worker measured at least 0.05 less than the card claims, on the same "
        "data set and metric: how the model was made, its weight types, and a test that it failed.",
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
        "Models with a variant that failed a conformance test on ONNX Runtime, with the test and "
        "the cause.",
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
        "Models that expect BGR images",
        "Models whose file states that images are in the channel order blue, green, red.",
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
        "Models under an open licence that are derived from a model whose licence forbids "
        "commercial use.",
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
        "Models that use GridSample at opset 16 or lower, which later opsets changed. Replace "
        "the operator with your own.",
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
        "Models benchmarked by workers of this hub on one class of device, one inference at a "
        "time, fastest first within each comparability key. Results are not ranked across keys, "
        "and noisy results are left out.",
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
        "The complete graph of one version, the same as its URL with the extension .ttl.",
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
