// A device below Kotlin and Java. Words, checks and the ledger are the C library's; JNA calls it.
package dev.confetti

import com.sun.jna.Library
import com.sun.jna.Native
import com.sun.jna.Pointer
import java.io.File
import java.time.Duration
import java.time.Instant

/** What a program branches on; docs/embedding.md says what each means, and what to do about it. */
enum class Code(val text: String) {
    BAD_OPTIONS("bad-options"),
    BAD_ANSWERS("bad-answers"),
    NOT_OPTED_IN("not-opted-in"),
    OFF("off"),
    ANSWERED("answered"),
    NOT_OPEN("not-open"),
    CLOSED("closed"),
    OTHER_ROUND("other-round"),
    SPENT("spent"),
    DROPPED("dropped"),
    PUBLISHER("publisher"),
    PROMISE("promise"),
    UNREACHABLE("unreachable"),
    CERTIFICATE("certificate"),
    ORIGIN("origin"),
    CREDENTIAL("credential"),
    FULL("full"),
    DELAY("delay"),
    REFUSED("refused"),
    NOTHING_KEPT("nothing-kept"),
    CANCELLED("cancelled"),
    ENDED("ended"),
    FORKED("forked"),
    REGISTRY("registry"),
    ROLLED_BACK("rolled-back"),
    OTHER_APP("other-app"),
    UNKNOWN_METRIC("unknown-metric"),
    WRONG_TYPE("wrong-type"),
    OUTSIDE_DOMAIN("outside-domain"),
    CLOCK_BACK("clock-back"),
    OTHER_STUDY("other-study"),
    NOT_ALLOWED("not-allowed"),
    BUG("bug"),
    FAILED("failed");

    companion object {
        internal fun of(text: String?): Code? = text?.let { t -> entries.find { it.text == t } ?: FAILED }
    }
}

/** An error of the device. Its message is for a person, and names no value. */
class ConfettiException(val code: Code, message: String) : Exception(message)

/** What an answer costs, when one person's answer is exchanged for any other; [local] holds though everyone colludes, and below 0 there is no limit. */
data class Charge(val epsilon: Double, val delta: Double, val local: Double)

/** What a plan asks by a name. What is said under a [crowd]'s, the network sees. */
data class Field(val name: String, val crowd: Boolean, val list: Boolean)

/** What became of an answer. [said] is what the device said, in words, and not what was answered. */
sealed interface Outcome {
    val said: String?

    /** The answer went, whole. */
    data class Sent(override val said: String?) : Outcome

    /** The plan has no room for the answer, and what it says of such an answer went. Show it to nobody else. */
    data class Unfit(override val said: String?) : Outcome

    /** What was drawn before this device was opened went. */
    data class Delivered(override val said: String?) : Outcome

    /** No failure: the answer is safe here. Call [Device.deliver] at [next], or when there is a network again. */
    data class Waiting(override val said: String?, val parts: Int, val next: Instant?, val why: String?, val code: Code?) : Outcome
}

/** A call that waits for the network; [cancel] ends it, from any thread. Close it. */
class Call(limit: Duration = Duration.ZERO) : AutoCloseable {
    internal val id = C.lib.confetti_call(limit.toMillis() / 1e3)

    fun cancel() = C.lib.confetti_cancel(id)

    override fun close() = cancel()
}

/** One person's own place: what was agreed to, spent and said. Keep it out of backups: one that is restored elsewhere says the same twice. */
class Store(val folder: File) {
    /** Writes down what the person has said. `false` destroys what waits; what was spent stays. */
    fun consent(agreed: Boolean) {
        C.take(C.lib.confetti_consent(folder.path, if (agreed) 1 else 0))
    }

    /** All of it, for a program. */
    fun ledger(): Map<String, Any?> = C.take(C.lib.confetti_ledger(folder.path))

    /** All of it in words, for the person. */
    fun words(): String = ledger()["words"] as String
}

/** A device that answers one plan. Close it. */
class Device private constructor(private val id: Long, asked: Map<String, Any?>) : AutoCloseable {
    val plan: String = asked["plan"] as String
    val title: String = asked["title"] as String
    val publisher: String = asked["publisher"] as String
    val opens: Instant? = (asked["opens"] as String?)?.let(Instant::parse)
    val closes: Instant? = (asked["closes"] as String?)?.let(Instant::parse)
    val charge: Charge = (asked["charge"] as Map<*, *>).let { Charge(it["epsilon"] as Double, it["delta"] as Double, it["local"] as Double) }
    val fields: List<Field> = (asked["fields"] as List<*>).map { f -> (f as Map<*, *>).let { Field(it["name"] as String, it["crowd"] as Boolean, it["list"] as Boolean) } }

    companion object {
        /**
         * Checks a plan, given by its address or as text, and refuses one that none of the publishers signed.
         * It waits for the network: call it off the main thread. [roots] are authorities, a file or its text; null is the system's.
         */
        fun open(
            store: Store, plan: String, publishers: List<String>, bearer: String? = null, roots: String? = null,
            delay: Duration? = null, wait: Duration? = null, call: Call? = null,
        ): Device {
            val options = mapOf("plan" to plan, "publishers" to publishers, "bearer" to bearer, "roots" to roots, "delay" to delay?.seconds(), "wait" to wait?.seconds())
            return open(store, Json.write(options.filterValues { it != null }), call)
        }

        /** The same, with options as JSON: `app.json` of a trial, for one. */
        fun open(store: Store, options: String, call: Call? = null): Device {
            val asked = C.take(C.lib.confetti_open(store.folder.path, options, call?.id ?: 0))
            return Device((asked["device"] as Double).toLong(), asked)
        }
    }

    /** Answers once, and sends the answer if it can go now. It waits for the network. */
    fun report(vararg answers: Pair<String, Any>, call: Call? = null): Outcome = outcome(C.lib.confetti_report(id, Json.write(mapOf(*answers)), call?.id ?: 0))

    /** Answers once, without the network: [deliver] sends it. */
    fun answer(vararg answers: Pair<String, Any>): Outcome = outcome(C.lib.confetti_answer(id, Json.write(mapOf(*answers))))

    /** Sends what waits and is due. It waits for the network. */
    fun deliver(call: Call? = null): Outcome = outcome(C.lib.confetti_deliver(id, call?.id ?: 0))

    override fun close() = C.lib.confetti_close(id)

    private fun outcome(answer: Pointer): Outcome {
        val m = C.take(answer)
        val said = m["said"] as String?
        return when (m["status"]) {
            "sent" -> Outcome.Sent(said)
            "unfit" -> Outcome.Unfit(said)
            "delivered" -> Outcome.Delivered(said)
            else -> Outcome.Waiting(said, (m["parts"] as Double).toInt(), (m["next"] as String?)?.let(Instant::parse), m["why"] as String?, Code.of(m["code"] as String?))
        }
    }
}

internal fun Duration.seconds(): Double = toMillis() / 1e3

/** The functions of confetti.h. */
internal interface C : Library {
    fun confetti_version(): Pointer
    fun confetti_free(answer: Pointer)
    fun confetti_call(seconds: Double): Long
    fun confetti_cancel(call: Long)
    fun confetti_consent(folder: String, agreed: Int): Pointer
    fun confetti_open(folder: String, options: String, call: Long): Pointer
    fun confetti_report(device: Long, answers: String, call: Long): Pointer
    fun confetti_answer(device: Long, answers: String): Pointer
    fun confetti_deliver(device: Long, call: Long): Pointer
    fun confetti_close(device: Long)
    fun confetti_ledger(folder: String): Pointer
    fun confetti_metrics_open(folder: String, options: String): Pointer
    fun confetti_metrics_consent(metrics: Long, agreed: Int): Pointer
    fun confetti_metrics_new(metrics: Long): Pointer
    fun confetti_metrics_record(metrics: Long, name: String, value: String): Pointer
    fun confetti_metrics_arm(metrics: Long, name: String): Pointer
    fun confetti_metrics_step(metrics: Long, call: Long): Pointer
    fun confetti_metrics_show(metrics: Long): Pointer
    fun confetti_metrics_close(metrics: Long)

    companion object {
        const val ABI = 1.0

        val lib: C by lazy {
            val c = Native.load("confetti", C::class.java, mapOf(Library.OPTION_STRING_ENCODING to "UTF-8"))
            val abi = take(c.confetti_version(), c)["abi"]
            if (abi != ABI) throw ConfettiException(Code.FAILED, "the library's interface is $abi, and this package takes $ABI: ship both of one version")
            c
        }

        /** Returns what a function gave, and gives its memory back. */
        fun take(answer: Pointer, c: C = lib): Map<String, Any?> {
            val text = try { answer.getString(0, "UTF-8") } finally { c.confetti_free(answer) }
            val tree = Json.read(text) as Map<*, *>
            (tree["error"] as Map<*, *>?)?.let { throw ConfettiException(Code.of(it["code"] as String)!!, it["message"] as String) }
            @Suppress("UNCHECKED_CAST") return tree["ok"] as Map<String, Any?>
        }
    }
}
