"""A question loses the words that mean nothing in its own language, and no others."""

from __future__ import annotations

from tests.cases import cases

from commonplace.core.stop_words import is_foreign
from commonplace.core.text import query_terms


@cases(
    ("query", "terms"),
    [
        ("Warum ist die Sicherung fehlgeschlagen?", ["sicherung", "fehlgeschlagen"]),
        ("Pourquoi la sauvegarde a-t-elle échoué ?", ["sauvegarde", "échoué"]),
        ("¿Por qué falló la copia de seguridad?", ["falló", "copia", "seguridad"]),
        ("Perché il salvataggio è fallito?", ["salvataggio", "fallito"]),
        ("Waarom is de reservekopie mislukt?", ["reservekopie", "mislukt"]),
        ("Por que é que a cópia falhou?", ["cópia", "falhou"]),
        ("Dlaczego nie ma kopii na dysku?", ["nie", "kopii", "dysku"]),
    ],
)
def test_a_question_loses_the_stop_words_of_its_language(query, terms):
    """Negations stay, as they do in English."""
    assert [term.text for term in query_terms(query)] == terms
    assert is_foreign(query)


@cases(
    ("query", "terms"),
    [
        ("what did the war do to the son", ["war", "son"]),
        ("die hard mit license", ["die", "hard", "mit", "license"]),
        ("von Neumann architecture", ["von", "neumann", "architecture"]),
        ("Rosa de la Vega flat", ["rosa", "de", "la", "vega", "flat"]),
        ("drives C, D and E", ["drives", "c", "d", "e"]),
        ("Müller's invoice", ["müller", "s", "invoice"]),
    ],
)
def test_an_english_question_keeps_words_that_mean_nothing_elsewhere(query, terms):
    """Names and English words of the same spelling are no other language."""
    assert [term.text for term in query_terms(query)] == terms
    assert not is_foreign(query)


@cases("query", ["数据库为什么变慢了", "почему упал сервер"])
def test_another_script_is_another_language(query):
    """Most of its letters are of no Latin script."""
    assert is_foreign(query)
