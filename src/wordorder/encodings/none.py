"""No positional encoding: the encoder sees a bag of words.

Source: the PosNet paper (2023), equation 9 and the row "w/o PE" of its Table 1.
Promises: neither absolute nor relative; works at any length; no parameters. The decoder still knows some order, because
its causal mask lets position i see i + 1 tokens.
Departures: none.
"""

from __future__ import annotations

from typing import Literal

from wordorder.encodings.base import Encoding, EncodingConfig
from wordorder.encodings.registry import register


class NoneConfig(EncodingConfig):
    """Parameters of an entry with ``type: none``."""

    type: Literal["none"] = "none"


@register(NoneConfig)
class NoEncoding(Encoding):
    """Does nothing."""

    one_by_one = True
