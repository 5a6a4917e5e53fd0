"""The report of the doctor for people."""

from gateway.doctor.findings import Examination, ExaminationOutcome, Finding, text_lines


def test_findings_with_the_same_remedy_name_it_once() -> None:
    findings = (Finding("a", "do x"), Finding("b", "do x"), Finding("c", "do y"))
    examination = Examination("paths", ExaminationOutcome.WRONG, findings=findings)
    assert list(text_lines(examination)) == [
        "WRONG a",
        "WRONG b",
        "      Remedy: do x",
        "WRONG c",
        "      Remedy: do y",
    ]
