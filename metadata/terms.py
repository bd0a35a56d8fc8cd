"""The vocabularies that graphs are written in, and where each begins."""

from __future__ import annotations

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
OWL = "http://www.w3.org/2002/07/owl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
FOAF = "http://xmlns.com/foaf/0.1/"
DC = "http://purl.org/dc/elements/1.1/"
DCTERMS = "http://purl.org/dc/terms/"
DCAT = "http://www.w3.org/ns/dcat#"
PROV = "http://www.w3.org/ns/prov#"
DQV = "http://www.w3.org/ns/dqv#"
EARL = "http://www.w3.org/ns/earl#"
SPDX = "http://spdx.org/rdf/terms#"
LICENCE = "http://spdx.org/licenses/"
IT6 = "http://data.europa.eu/it6/"
FAIR4ML = "https://w3id.org/fair4ml#"
MLS = "http://www.w3.org/ns/mls#"
SCHEMA = "https://schema.org/"
DPV = "https://w3id.org/dpv#"

PREFIXES = {
    "rdf": RDF,
    "rdfs": RDFS,
    "xsd": XSD,
    "owl": OWL,
    "skos": SKOS,
    "foaf": FOAF,
    "dc": DC,
    "dcterms": DCTERMS,
    "dcat": DCAT,
    "prov": PROV,
    "dqv": DQV,
    "earl": EARL,
    "spdx": SPDX,
    "lic": LICENCE,
    "it6": IT6,
    "fair4ml": FAIR4ML,
    "mls": MLS,
    "schema": SCHEMA,
    "dpv": DPV,
}
# What the hub itself writes in place of a language that nobody told (BCP 47, "und").
UNTOLD = "und"

# SPDX licence ids (licence list 3.27.0) that model cards use, in SPDX's own spelling.
_SPDX = """
0BSD AFL-3.0 AGPL-3.0 AGPL-3.0-only AGPL-3.0-or-later Apache-2.0 Artistic-2.0 BSD-2-Clause
BSD-3-Clause BSD-3-Clause-Clear BSL-1.0 C-UDA-1.0 CC-BY-2.0 CC-BY-2.5 CC-BY-3.0 CC-BY-4.0
CC-BY-NC-2.0 CC-BY-NC-3.0 CC-BY-NC-4.0 CC-BY-NC-ND-3.0 CC-BY-NC-ND-4.0 CC-BY-NC-SA-2.0
CC-BY-NC-SA-3.0 CC-BY-NC-SA-4.0 CC-BY-ND-4.0 CC-BY-SA-3.0 CC-BY-SA-4.0 CC0-1.0 CDLA-Permissive-1.0
CDLA-Permissive-2.0 CDLA-Sharing-1.0 ECL-2.0 EPL-1.0 EPL-2.0 EUPL-1.1 EUPL-1.2 GFDL-1.3 GPL-2.0
GPL-2.0-only GPL-2.0-or-later GPL-3.0 GPL-3.0-only GPL-3.0-or-later ISC LGPL-2.1 LGPL-2.1-only
LGPL-2.1-or-later LGPL-3.0 LGPL-3.0-only LGPL-3.0-or-later LPPL-1.3c MIT MPL-2.0 MS-PL MulanPSL-2.0
NCSA ODbL-1.0 ODC-By-1.0 OFL-1.1 OSL-3.0 PDDL-1.0 PostgreSQL Unlicense WTFPL Zlib
"""
SPDX_IDS = {name.lower(): name for name in _SPDX.split()}

# The domain of each Hugging Face task (pipeline_tag) that the hub knows.
_DOMAINS = {
    "audio": "audio-classification automatic-speech-recognition text-to-speech",
    "cv": "depth-estimation image-classification image-segmentation image-to-image "
    "keypoint-detection mask-generation object-detection",
    "multimodal": "text-to-image",
    "nlp": "feature-extraction fill-mask question-answering sentence-similarity summarization "
    "text-classification text-generation token-classification translation "
    "zero-shot-classification",
    "other": "graph-ml reinforcement-learning",
    "tabular": "tabular-classification tabular-regression time-series-forecasting",
}
DOMAIN_OF = {task: domain for domain, tasks in _DOMAINS.items() for task in tasks.split()}
