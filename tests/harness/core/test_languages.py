"""The languages of documents."""

import pytest

from harness.core.languages import UNKNOWN_LANGUAGE, languages_of


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("English", "The report describes the results of the company and its plans for the year."),
        ("German", "Der Bericht beschreibt die Ergebnisse des Unternehmens und seine Pläne im Jahr."),
        ("French", "Le rapport décrit les résultats de la société et ses projets dans l'année."),
        ("Spanish", "El informe describe los resultados de la empresa y sus planes para el próximo año."),
        ("Portuguese", "O relatório descreve os resultados da empresa e os seus planos para o próximo ano."),
        ("Italian", "La relazione descrive i risultati della società e i suoi piani per il prossimo anno."),
        ("Dutch", "Het verslag beschrijft de resultaten van het bedrijf en de plannen voor het jaar."),
        ("Polish", "Raport opisuje wyniki firmy i jej plany na rok, które są w trakcie realizacji."),
        ("Japanese", "Kubernetesのクラスタを作成するにはkubectlを使用します。"),
        ("Chinese", "年度报告描述了公司的业绩和来年的计划。"),
        ("Korean", "연례 보고서는 회사의 결과를 설명합니다."),
        ("Cyrillic script", "Отчет описывает результаты компании."),
        (UNKNOWN_LANGUAGE, "Item: Oak; Price: 12; Site: Köln"),
        (UNKNOWN_LANGUAGE, "17 + 4"),
    ],
)
def test_the_language_of_a_text_is_recognised_by_its_script_or_its_words(language: str, text: str) -> None:
    assert languages_of([text]) == {language: 1}


def test_a_large_collection_is_counted_from_a_sample() -> None:
    texts = ["The plan of the town is in the report."] * 2000
    assert languages_of(texts) == {"English": 2000}
    assert languages_of([]) == {}
