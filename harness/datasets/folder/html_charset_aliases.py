"""Charset names of HTML pages, interpreted as browsers do (https://encoding.spec.whatwg.org)."""

import codecs

_READ_AS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    # If the name could be read as single bytes, the page is not UTF-16.
    "utf-16": "utf-8",
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
}
"""Python's charset name -> the larger charset that browsers use for it."""
_SPELLED = {
    "dos-874": "cp874",
    "iso-8859-6-e": "iso8859-6",
    "iso-8859-6-i": "iso8859-6",
    "iso-8859-8-e": "iso8859-8",
    "iso-8859-8-i": "iso8859-8",
    "logical": "iso8859-8",
    "visual": "iso8859-8",
    "windows-31j": "cp932",
    "windows-874": "cp874",
    "windows-949": "cp949",
    "ks_c_5601-1989": "cp949",
    "cn-big5": "big5hkscs",
    "gb_2312-80": "gb18030",
    "iso88591": "cp1252",
    "koi8": "koi8-r",
    "koi8-ru": "koi8-u",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-mac-roman": "mac-roman",
}
"""Charset names that Python does not know."""


def codec_of(label: str) -> str:
    """Python's codec for the charset name of a page. LookupError: unknown name."""
    label = label.lower()
    named = _SPELLED.get(label) or codecs.lookup(_known(label)).name
    return _READ_AS.get(named, named)


def _known(label: str) -> str:
    """The name without the `x-` of non-standard names, such as `x-sjis`."""
    try:
        codecs.lookup(label)
    except LookupError:
        return label.removeprefix("x-")
    return label
