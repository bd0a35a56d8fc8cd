"""The REST operations of datasets, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from types import EllipsisType
from typing import Annotated, Literal

from hub.client.rest.calls import Group, explicit, json_of, part


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The description of a data set."""

    slug: str
    namespace: str
    title: str
    description: str
    iri: str
    license: str
    # each licence of a list or choice by itself
    licenses: tuple[str, ...]
    personal_data: str
    categories: tuple[str, ...]
    legal_basis: str
    source: str
    rows: int | None
    size_bytes: int | None
    collected_on: date | None
    created_at: datetime
    updated_at: datetime
    withdrawn_at: datetime | None
    reason: str
    url: str


@dataclass(frozen=True, kw_only=True)
class DatasetUse:
    """A version whose card names a data set."""

    ref: str
    number: int


@dataclass(frozen=True, kw_only=True)
class DatasetDetail(Dataset):
    """A data set with the newest version of each model that names it."""

    used_by: tuple[DatasetUse, ...]


class DatasetsGroup(Group):
    """The operations of datasets."""

    def create(
        self,
        *,
        namespace: str,
        slug: str,
        title: str | None = None,
        description: str | None = None,
        iri: str | None = None,
        license: str | None = None,
        personal_data: Literal["unknown", "yes", "anonymised", "no"] | None = None,
        categories: Sequence[
            Literal[
                "Age",
                "Behavioural",
                "Biometric",
                "Citizenship",
                "Communication",
                "Contact",
                "Demographic",
                "Education",
                "EmailAddress",
                "Emotion",
                "EthnicOrigin",
                "Family",
                "Financial",
                "Gender",
                "Genetic",
                "Health",
                "HealthRecord",
                "IPAddress",
                "Identifying",
                "Language",
                "Location",
                "MedicalHealth",
                "Name",
                "Nationality",
                "OfficialID",
                "Opinion",
                "PhilosophicalBelief",
                "PhysicalCharacteristic",
                "Picture",
                "PoliticalAffiliation",
                "PoliticalOpinion",
                "Preference",
                "Professional",
                "Race",
                "Religion",
                "Sexual",
                "Social",
                "SocialMedia",
                "TelephoneNumber",
                "Transactional",
                "Vulnerability",
            ]
        ]
        | None = None,
        legal_basis: Literal[
            "Consent",
            "Contract",
            "LegalObligation",
            "LegitimateInterest",
            "OfficialAuthorityOfController",
            "PublicInterest",
            "VitalInterest",
            "",
        ]
        | None = None,
        source: str | None = None,
        rows: int | None = None,
        size_bytes: int | None = None,
        collected_on: date | str | None = None,
    ) -> DatasetDetail:
        """Describe a data set."""
        return self._call(
            DatasetDetail,
            "POST",
            "datasets",
            content=json_of(
                {
                    "title": title,
                    "description": description,
                    "iri": iri,
                    "license": license,
                    "personal_data": personal_data,
                    "categories": categories,
                    "legal_basis": legal_basis,
                    "source": source,
                    "rows": rows,
                    "size_bytes": size_bytes,
                    "collected_on": collected_on,
                    "namespace": namespace,
                    "slug": slug,
                }
            ),
        )

    def edit(
        self,
        slug: str,
        *,
        title: str | None = None,
        description: str | None = None,
        iri: str | None = None,
        license: str | None = None,
        personal_data: Literal["unknown", "yes", "anonymised", "no"] | None = None,
        categories: Sequence[
            Literal[
                "Age",
                "Behavioural",
                "Biometric",
                "Citizenship",
                "Communication",
                "Contact",
                "Demographic",
                "Education",
                "EmailAddress",
                "Emotion",
                "EthnicOrigin",
                "Family",
                "Financial",
                "Gender",
                "Genetic",
                "Health",
                "HealthRecord",
                "IPAddress",
                "Identifying",
                "Language",
                "Location",
                "MedicalHealth",
                "Name",
                "Nationality",
                "OfficialID",
                "Opinion",
                "PhilosophicalBelief",
                "PhysicalCharacteristic",
                "Picture",
                "PoliticalAffiliation",
                "PoliticalOpinion",
                "Preference",
                "Professional",
                "Race",
                "Religion",
                "Sexual",
                "Social",
                "SocialMedia",
                "TelephoneNumber",
                "Transactional",
                "Vulnerability",
            ]
        ]
        | None = None,
        legal_basis: Literal[
            "Consent",
            "Contract",
            "LegalObligation",
            "LegitimateInterest",
            "OfficialAuthorityOfController",
            "PublicInterest",
            "VitalInterest",
            "",
        ]
        | None = None,
        source: str | None = None,
        rows: int | EllipsisType | None = ...,
        size_bytes: int | EllipsisType | None = ...,
        collected_on: date | str | EllipsisType | None = ...,
        etag: Annotated[str | None, "ETag that you read (default: the current one)"] = None,
    ) -> DatasetDetail:
        """Change a data set; needs If-Match."""
        return self._call(
            DatasetDetail,
            "PATCH",
            f"datasets/{part(slug)}",
            content=json_of(
                {
                    "title": title,
                    "description": description,
                    "iri": iri,
                    "license": license,
                    "personal_data": personal_data,
                    "categories": categories,
                    "legal_basis": legal_basis,
                    "source": source,
                    "rows": explicit(rows),
                    "size_bytes": explicit(size_bytes),
                    "collected_on": explicit(collected_on),
                }
            ),
            etag=etag,
        )

    def list(
        self,
        *,
        q: str | None = None,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Dataset]:
        """List data sets by name; filter with `q`."""
        return self._pages(Dataset, "datasets", query={"q": q}, limit=limit)

    def read(self, slug: str) -> DatasetDetail:
        """Read a data set, with the models that name it and that you can see."""
        return self._call(DatasetDetail, "GET", f"datasets/{part(slug)}")

    def restore(self, slug: str) -> DatasetDetail:
        """Undo a withdrawal."""
        return self._call(DatasetDetail, "POST", f"datasets/{part(slug)}/restore")

    def withdraw(
        self,
        slug: str,
        *,
        reason: str,
        hide_title: Annotated[bool | None, "hide the title, because it is the reason"] = None,
    ) -> DatasetDetail:
        """Withdraw a data set; its page remains and shows the reason."""
        return self._call(
            DatasetDetail,
            "POST",
            f"datasets/{part(slug)}/withdraw",
            content=json_of({"reason": reason, "hide_title": hide_title}),
        )
