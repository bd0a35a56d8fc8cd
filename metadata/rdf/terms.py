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
PD = "https://w3id.org/dpv/pd#"
QUDT = "http://qudt.org/schema/qudt/"
UNIT = "http://qudt.org/vocab/unit/"
ACCESS = "http://publications.europa.eu/resource/authority/access-right/"
BIRO = "http://purl.org/spar/biro/"
ADMS = "http://www.w3.org/ns/adms#"
SEC = "https://w3id.org/security#"
# Statuses of things in catalogues, as ADMS has them.
ADMS_STATUS = "http://purl.org/adms/status/"

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
    "pd": PD,
    "qudt": QUDT,
    "unit": UNIT,
    "biro": BIRO,
    "adms": ADMS,
    "sec": SEC,
}
# The hub's own terms that graphs may hold, each declared in metadata/vocab/terms.ttl.
_OWN = """
BenchmarkResult Contribution Conversion Device DeviceEvaluation Environment FederatedRound
Finetuning LeftOut Merge ModelQuality NoLicenceGiven OpsetImport Port Quantization Training Upgrade
Variant aggregationRule authorInFile batchSize bitmapPixelFormat blames callStyle channelDeviation
channelMean channelOrder colorSpaceGamma comparabilityKey componentRole concurrency contributions
declaredShape delta denotation device deviceEvaluation deviceReports differentialPrivacy elementType
epsilon epsilonReplaceOne evaluatedExamples evaluatedRows exampleFile examples executionProvider
figureKind figureStatus graphPass hasBenchmark hasFigure hasInput hasOutput hasVariant
hasVariantFile highestValue hopSamples interpolation intervalHigh intervalLevel intervalLow
intervalMethod irVersion latencyBoundMs leftOut licenceConflict licenceExpression licenceInFile
listedBenchmark lowestValue macs manifest manifestSha256 memoryBytes mixedPrecision needsNoDataset
neighbourRelation noiseMultiplier nominalPixelRange opsetDomain opsetImport opsetVersion
packageLayout paddingLevel pixelScale polarity portName postprocessing precision predictionsDigest
preprocessing proofStatement proofStrength publicKey quantization reason recipe reportedUnder
resizeHeight resizeMode resizeWidth resultStatus roundNumber ruleParameters runs runtime
runtimeVersion sampleRate scenario shape shortestEdge signature split stateOutput tensorLayout
threads trainingCO2eKg usesOperator valueDistribution valueType variant variantOrigin vocabularySize
weightDataType windowSamples
"""
OWN = frozenset(_OWN.split())
# Types of elements, named after TensorProto.DataType, begin with this.
DATA_TYPE = "dt-"
# The tag of an undetermined language (BCP 47).
UNDETERMINED = "und"

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

# What files and cards write in place of an SPDX id, without case, spaces and punctuation.
_SPELT = {
    "apache": "Apache-2.0",
    "apache2": "Apache-2.0",
    "apache20": "Apache-2.0",
    "apachelicense20": "Apache-2.0",
    "apachelicenseversion20": "Apache-2.0",
    "wwwapacheorglicenseslicense20": "Apache-2.0",
    "mitlicense": "MIT",
    "opensourceorglicensesmit": "MIT",
    "opensourceorglicensemit": "MIT",
    "bsd2": "BSD-2-Clause",
    "bsd3": "BSD-3-Clause",
    "gplv3": "GPL-3.0",
    "gpl3": "GPL-3.0",
    "agplv3": "AGPL-3.0",
    "lgplv3": "LGPL-3.0",
    "cc0": "CC0-1.0",
    "ccby": "CC-BY-4.0",
    "creativecommonsorglicensesby40": "CC-BY-4.0",
    "creativecommonsorglicensesbysa40": "CC-BY-SA-4.0",
    "creativecommonsorglicensesbync40": "CC-BY-NC-4.0",
    "creativecommonsorgpublicdomainzero10": "CC0-1.0",
}
_BARE_IDS = {"".join(filter(str.isalnum, key)): name for key, name in SPDX_IDS.items()}


def spdx_id(name: str) -> str:
    """The SPDX id of a licence written as an id, a name or an address; else empty."""
    text = name.strip().lower().removeprefix("https://").removeprefix("http://")
    bare = "".join(filter(str.isalnum, text.removesuffix(".txt").removesuffix(".html")))
    return _BARE_IDS.get(bare) or _SPELT.get(bare, "")


def is_same_licence(spdx_id: str, other: str) -> bool:
    """Whether two SPDX ids name one licence; GPL-3.0 and GPL-3.0-only do."""
    return _family(spdx_id) == _family(other)


def _family(name: str) -> str:
    return name.removesuffix("-only")
