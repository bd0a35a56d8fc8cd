"""The compliance report of a version: facts of the hub under the headings of the AI Act."""
