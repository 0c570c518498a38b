"""Numbers and spans of time as people read them."""

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_MIB = (("TiB", 2**20), ("GiB", 2**10), ("MiB", 1))


def span_text(seconds: int) -> str:
    """ "3 h 12 min"; at most two units, the second only while the first is below ten.

    A time in the future is negative. static/js/app.js counts on in the same way.
    """
    sign, left = ("-", -seconds) if seconds < 0 else ("", seconds)
    for place, (size, unit) in enumerate(_UNITS):
        if left >= size:
            whole, rest = divmod(left, size)
            text = f"{sign}{whole} {unit}"
            if place + 1 < len(_UNITS) and whole < 10 and unit != "min":
                size_below, unit_below = _UNITS[place + 1]
                if rest // size_below:
                    text += f" {rest // size_below} {unit_below}"
            return text
    return "0 s"


def amount_text(value: float, unit: str = "") -> str:
    """ "1,536 devices", "80 GiB" from 81,920 MiB, "1.25 s" from 1,250 ms, "48 ms" from 0.048 s.

    A share of 0.5 is 50 %.
    """
    if unit == "bytes":
        value, unit = value / 2**20, "MiB"
    if unit == "MiB":
        unit, size = next(((name, size) for name, size in _MIB if abs(value) >= size), ("MiB", 1))
        value = value / size
    elif unit == "ms" and abs(value) >= 1000:
        value, unit = value / 1000, "s"
    elif unit == "s" and 0 < abs(value) < 1:
        value, unit = value * 1000, "ms"
    elif unit == "share":
        value, unit = value * 100, "%"
    text = number_text(value)
    if unit == "%":
        return f"{text} %"
    return f"{text} {unit}" if unit else text


def number_text(value: float) -> str:
    """Three significant digits below a hundred, none after the point above, commas by thousands."""
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.1e}"
