"""Owns the words that mean nothing alone, in the languages in which a question may be asked.

Never drops a word for another language's sake: "war" is left out of a German question alone.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Words so frequent in questions that a search for them is a search for everything (49 ms of a
# 7-word question at 100,000 entries). Negations and time words stay: they mean something here.
STOP_WORDS = frozenset(
    """
    a about an and any are as at be been being but by can could did do does doing for from had
    has have having he her hers him his how i if in into is it its itself just me my of on or
    our ours she so some such than that the their theirs them then there these they this those
    to too us was we were what when where which while who whom why will with would you your
    yours
    """.split()
)

# Ours, by the rule of the English ones: those of libraries (stop-words, stopwords-iso) hold
# negations, time words and up to 650 words a language, "work" and "year" among them.
_OTHERS = {
    name: frozenset(words.split())
    for name, words in {
        "German": """
            aber als am an auch auf aus bei beim bin bist da damit dann das dass dazu dein deine
            dem den denn der des dessen die dies diese diesem diesen dieser dieses doch du durch
            ein eine einem einen einer eines er es euch euer eure für gegen hab habe haben hast
            hat hatte hatten hattest ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist
            jede jedem jeden jeder jedes kann kannst konnte konnten können könnte man mein meine
            meinem meinen meiner meines mich mir mit muss müssen musste nur ob oder sein seine
            seinem seinen seiner sich sie sind so soll sollen sollte sondern über um und uns
            unser unsere unserem unseren unserer vom von wann war waren warum was weil welche
            welchem welchen welcher welches wem wen wenn wer werden weshalb wessen wie wieso will
            wir wird wo woher wohin wollen wurde wurden würde zu zum zur""",
        "French": """
            a à ai as au aux avait avec avez avoir avons c ce cela ces cet cette ceux combien
            comme comment d dans de des dont du elle elles en es est et était été être eu eux
            fait faire faut il ils j je l la laquelle le les lequel leur leurs lui m ma mais me
            mes moi mon nos notre nous on ont ou où par peut pour pourquoi qu quand que quel
            quelle quelles quels qui quoi s sa se selon ses si son sont suis sur t ta te tes toi
            ton tu un une veut vos votre vous y""",
        "Spanish": """
            a adónde al algo como cómo con cual cuál cuales cuáles cuando cuándo cuanto cuánto
            cuánta cuántas cuántos de del desde donde dónde e el él ella ellas ellos en era es
            esa ese eso esta está están estas este esto estos fue ha había han hay he hemos la
            las le les lo los me mi mis muy nos nosotros o os para pero por porque pues puede
            pueden que qué quien quién quiénes quiere quieren se ser sí si sobre son su sus te
            tener tenemos tengo tiene tienen tu tus un una unas uno unos usted y yo""",
        "Italian": """
            a ad agli ai al alla alle allo anche c che chi ci come con cosa cui da dagli dai dal
            dalla dalle d dei degli del della delle dello di dove e è ed era gli ha hai hanno ho
            i il in io l la le lei li lo loro lui ma mi mia mie miei mio ne nei nel nella nelle
            noi nostra nostro o per perché più quale quali quando quanta quante quanti quanto
            quella quelle quelli quello questa queste questi questo s se si sei siamo sia sono
            sta su sua sue sugli sul sulla sulle suo suoi ti tra tu tua tuo un una uno vi voi""",
        "Portuguese": """
            a ao aos as às com como da das de dela dele do dos e é ela ele em era essa esse esta
            está este estou eu foi foram há isso isto já lhe mais mas me meu meus minha minhas na
            nas no nos nós nossa nosso num numa o onde os ou para pela pelo por porque porquê
            qual quais quando quanta quantas quanto quantos que quem são se sem ser seu seus sua
            suas sobre também te tem têm temos tenho tinha tu um uma você vocês""",
        "Dutch": """
            aan al als bij dan dat de deze die dit door een en er had hadden heb hebben heeft het
            hij hoe hoeveel hun ik in is je jij jouw kan kunnen maar me met mij mijn moet naar of
            om onder ons onze ook op over te toch tot u uit uw van voor waar waarom wanneer waren
            was wat we welk welke werd wie wij wil worden wordt zich zij zijn zo zou zullen""",
        "Swedish": """
            alla att av blev bli blir de dem den denna deras dess det detta dig din du där eller
            en ett från för ha hade han hans har hon hur här i jag kan man med mig min mina mitt
            mot mycket ni någon något och om oss på så sig sin sina ska skulle som till upp ut
            vad var varför vars vem vi vid vilka vilken vilket vår vårt än är åt""",
        "Danish": """
            af alle at blev bliver da de dem den denne der deres det dette dig din du eller en er
            et for fra ham han har havde hende hos hun hvad hvem hvilken hvilket hvor hvordan
            hvorfor hvornår i jeg kan man med meget men mig min mine mit når og om op os på sig
            sin skal som til ud var ved vi vil vores være været""",
        "Polish": """
            a aby bo był była było byli być ci co czy dla dlaczego do gdzie go i ich ile ja jak
            jaka jaki jakie jako je jego jej jest jestem już kiedy kim kogo która które którego
            której który którzy ma mam mamy mi mnie moja moje mój może na nad nam nas nasz o od
            on ona one oni po pod przez przy są się skąd swoje ta tak tam te tego tej ten to tu
            ty w we wam z za ze że żeby""",
    }.items()
}
_ANY_OTHER = frozenset[str]().union(*_OTHERS.values())

# What English texts have too, and names of places and people.
_NO_EVIDENCE = STOP_WORDS | frozenset(
    """
    ad al at av bin c d da de del den des di die dies du e el en er es et fait für go had hat i
    il in is j l la las le les lo los m ma man mans me men met mi mine mit ne no nor nos of om on os
    over par pod pour s se sei sin so son sort t te to ton tot tu u um up van vi vis von war was
    we y z ze à
    """.split()
)
_SURE_LEAST, _LEAST = 2, 3
_LAST_LATIN = "\u024f"
_WORD = re.compile(r"\w+")


def stop_words_of(words: Iterable[str]) -> frozenset[str]:
    """The stop words of the language that a question is asked in, by its words without case."""
    language = _language_of({*words})
    return _OTHERS[language] if language else STOP_WORDS


def is_foreign(question: str) -> bool:
    """Whether a question is clearly in another language than English, by its letters or words."""
    letters = [] if question.isascii() else [letter for letter in question if letter.isalpha()]
    others = sum(letter > _LAST_LATIN for letter in letters)
    return 2 * others > len(letters) or bool(_language_of({*_WORD.findall(question.casefold())}))


def _language_of(said: set[str]) -> str:
    """The language most of whose stop words are among these words; empty for English or none.

    Two are enough where one is in no English text; a letter with a mark counts as one more.
    """
    said = {word for word in said if len(word) > 1 or not word.isascii()}  # "drives C, D and E"
    english = len(said & STOP_WORDS)
    if len(said & _ANY_OTHER) <= english:  # of all languages together: most questions end here
        return ""
    most, sure, language = max(
        (len(own := said & words), len(own - _NO_EVIDENCE), name) for name, words in _OTHERS.items()
    )
    marked = any(not word.isascii() for word in said)
    is_clear = most + marked >= (_SURE_LEAST if sure else _LEAST) and most > english
    return language if is_clear else ""
