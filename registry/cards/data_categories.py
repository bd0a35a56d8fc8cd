"""Words for personal data: the categories and legal bases of the Data Privacy Vocabulary, 2.3.

Only names that a data set's page offers; each is a term of https://w3id.org/dpv/pd# or of
https://w3id.org/dpv#. Source: W3C DPVCG, DPV 2.3 and its extension PD 2.3.
"""

from __future__ import annotations

# Name in PD -> words for people; the special ones need particular care (GDPR, article 9).
SPECIAL = {
    "Biometric": "biometric",
    "EthnicOrigin": "ethnic origin",
    "Genetic": "genetic",
    "Health": "health",
    "HealthRecord": "health records",
    "MedicalHealth": "medical",
    "PhilosophicalBelief": "philosophical beliefs",
    "PoliticalAffiliation": "political affiliation",
    "PoliticalOpinion": "political opinions",
    "Race": "race",
    "Religion": "religion",
    "Sexual": "sexuality",
}
PLAIN = {
    "Age": "age",
    "Behavioural": "behaviour",
    "Citizenship": "citizenship",
    "Communication": "communication",
    "Contact": "contact",
    "Demographic": "demographic",
    "Education": "education",
    "EmailAddress": "email addresses",
    "Emotion": "emotions",
    "Family": "family",
    "Financial": "financial",
    "Gender": "gender",
    "Identifying": "identifying",
    "IPAddress": "IP addresses",
    "Language": "language",
    "Location": "location",
    "Name": "names",
    "Nationality": "nationality",
    "OfficialID": "official identifiers",
    "Opinion": "opinions",
    "PhysicalCharacteristic": "physical characteristics",
    "Picture": "pictures",
    "Preference": "preferences",
    "Professional": "professional",
    "Social": "social",
    "SocialMedia": "social media",
    "TelephoneNumber": "telephone numbers",
    "Transactional": "transactions",
    "Vulnerability": "vulnerability",
}
CATEGORIES = PLAIN | SPECIAL
LEGAL_BASES = {
    "Consent": "consent",
    "Contract": "contract",
    "LegalObligation": "legal obligation",
    "LegitimateInterest": "legitimate interest",
    "OfficialAuthorityOfController": "official authority of the controller",
    "PublicInterest": "public interest",
    "VitalInterest": "vital interest",
}
_BY_WORDS = {word.lower(): name for name, words in CATEGORIES.items() for word in (name, words)}
_BASIS_BY_WORDS = {
    word.lower(): name for name, words in LEGAL_BASES.items() for word in (name, words)
}


def category(written: str) -> str:
    """The name in PD of a category as written, by name or words; empty for none."""
    return _BY_WORDS.get(_plain(written), "")


def legal_basis(written: str) -> str:
    """The name in DPV of a legal basis as written, by name or words; empty for none."""
    return _BASIS_BY_WORDS.get(_plain(written), "")


def _plain(written: str) -> str:
    text = written.strip().rpartition("#")[2].rpartition(":")[2].lower()
    return " ".join(text.replace("_", " ").replace("-", " ").split())
