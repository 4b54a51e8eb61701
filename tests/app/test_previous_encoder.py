"""Which other models are on this machine, so that they answer after a switch."""

from pathlib import Path

from commonplace.app.process import ProcessContext
from commonplace.config.settings import read_settings


def test_a_model_that_is_there_and_not_in_use_is_a_previous_one():
    """MiniLM comes with the developers' weights; in use it is none of the previous ones.

    Weights for the long tests may lie beside it.
    """
    previous = {}
    for name in ("e5", "miniLM"):
        settings = read_settings(environ={"WB_EMBED_MODEL": name}, cwd=Path.cwd(), home=Path.home())
        shared = ProcessContext(settings)
        try:
            previous[name] = [each.partition(":")[0] for each in shared.previous_encoders]
        finally:
            shared.close()
    assert "minilm-l6-v2" in previous["e5"]
    assert "minilm-l6-v2" not in previous["miniLM"]
