package dev.confetti

/** JSON as the library speaks it: objects are maps, lists are lists, and every number is a Double. */
internal object Json {
    fun write(v: Any?): String = buildString { write(v) }

    private fun StringBuilder.write(v: Any?) {
        when (v) {
            null -> append("null")
            is Double -> { require(v.isFinite()) { "a number that is none" }; append(if (v == Math.rint(v) && Math.abs(v) < 1e15) v.toLong().toString() else v.toString()) }
            is Float -> write(v.toDouble())
            is Boolean, is Number -> append(v.toString())
            is Map<*, *> -> all('{', '}', v.entries) { write(it.key.toString()); append(':'); write(it.value) }
            is Iterable<*> -> all('[', ']', v) { write(it) }
            is DoubleArray -> write(v.asList())
            is FloatArray -> write(v.asList())
            else -> text(v.toString())
        }
    }

    private fun <T> StringBuilder.all(open: Char, close: Char, items: Iterable<T>, each: (T) -> Unit) {
        append(open)
        items.forEachIndexed { i, it -> if (i > 0) append(','); each(it) }
        append(close)
    }

    private fun StringBuilder.text(s: String) {
        append('"')
        for (c in s) when {
            c == '"' || c == '\\' -> append('\\').append(c)
            c < ' ' -> append("\\u%04x".format(c.code))
            else -> append(c)
        }
        append('"')
    }

    fun read(text: String): Any? = Reader(text).run { value().also { blanks(); if (at < text.length) wrong() } }

    private class Reader(val text: String) {
        var at = 0

        fun wrong(): Nothing = throw IllegalArgumentException("no JSON at character $at")
        fun blanks() { while (at < text.length && text[at] in " \t\r\n") at++ }
        fun next(): Char = if (at < text.length) text[at++] else wrong()
        fun take(c: Char) { blanks(); if (next() != c) wrong() }
        fun peek(): Char { blanks(); return if (at < text.length) text[at] else wrong() }

        fun value(): Any? = when (peek()) {
            '{' -> LinkedHashMap<String, Any?>().also { m -> items('{', '}') { val k = string(); take(':'); m[k] = value() } }
            '[' -> ArrayList<Any?>().also { l -> items('[', ']') { l.add(value()) } }
            '"' -> string()
            't' -> word("true", true)
            'f' -> word("false", false)
            'n' -> word("null", null)
            else -> {
                val from = at
                while (at < text.length && text[at] in "+-.eE0123456789") at++
                text.substring(from, at).toDoubleOrNull() ?: wrong()
            }
        }

        fun items(open: Char, close: Char, each: () -> Unit) {
            take(open)
            if (peek() == close) { at++; return }
            while (true) { each(); when (peek()) { ',' -> at++; close -> { at++; return }; else -> wrong() } }
        }

        fun word(w: String, v: Any?): Any? = if (text.startsWith(w, at)) { at += w.length; v } else wrong()

        fun string(): String = buildString {
            take('"')
            while (true) when (val c = next()) {
                '"' -> break
                '\\' -> when (val e = next()) {
                    'n' -> append('\n'); 't' -> append('\t'); 'r' -> append('\r'); 'b' -> append('\b'); 'f' -> append('\u000c')
                    'u' -> { if (at + 4 > text.length) wrong(); append(text.substring(at, at + 4).toIntOrNull(16)?.toChar() ?: wrong()); at += 4 }
                    '"', '\\', '/' -> append(e)
                    else -> wrong()
                }
                else -> append(c)
            }
        }
    }
}
