package dev.confetti

import java.io.File
import java.time.Duration
import java.time.Instant

/** What an app counts, by the registry that `confetti metrics sign` wrote. `confetti metrics code --kotlin` writes an object over one. */
class Metrics(private val registry: () -> String, private val publishers: List<String>) {
    @Volatile private var id = 0L

    /**
     * Counts, and answers when a period is over, until [stop]. Until the person has agreed nothing is kept. With CI or
     * CONFETTI_OFF in the environment it does nothing. Without [background] the app calls [step], as from a worker of Android.
     */
    @Synchronized fun start(folder: File, bearer: String? = null, roots: String? = null, delay: Duration? = null, background: Boolean = true) {
        val options = mapOf("registry" to registry(), "publishers" to publishers, "bearer" to bearer, "roots" to roots, "delay" to delay?.seconds(), "background" to background)
        val made = (C.take(C.lib.confetti_metrics_open(folder.path, Json.write(options.filterValues { it != null })))["metrics"] as Double).toLong()
        stop()
        id = made
    }

    /** Keeps what was counted, and counts no more. */
    @Synchronized fun stop() { if (id != 0L) C.lib.confetti_metrics_close(id); id = 0 }

    /** Writes down what the person has said to the list as it is now. `false` destroys what is kept and what waits. */
    fun consent(agreed: Boolean) { C.take(C.lib.confetti_metrics_consent(id, if (agreed) 1 else 0)) }

    /** What is asked that the person has not agreed to, in words. */
    fun new(): List<String> = (C.take(C.lib.confetti_metrics_new(id))["new"] as List<*>).map { it as String }

    /** Answers what is due, and returns when to come again, and what could not be said now. It waits for the network. */
    fun step(call: Call? = null): Step = C.take(C.lib.confetti_metrics_step(id, call?.id ?: 0)).let { Step(Instant.parse(it["next"] as String), it["why"] as String?, Code.of(it["code"] as String?)) }

    /** What the device keeps, by what law it would be told, and what was said, in words for a debug view. */
    fun show(): String = C.take(C.lib.confetti_metrics_show(id))["words"] as String

    /** Counts by name, and says what is wrong: for scripts. */
    fun record(name: String, value: Any) { C.take(C.lib.confetti_metrics_record(id, name, Json.write(value))) }

    // What generated code calls says nothing: an app does not stop because it was counted wrongly, or not yet.
    internal fun count(name: String, value: Any) { if (id != 0L) C.lib.run { confetti_free(confetti_metrics_record(id, name, Json.write(value))) } }
    internal fun arm(name: String): String? = if (id == 0L) null else try { C.take(C.lib.confetti_metrics_arm(id, name))["arm"] as String } catch (_: ConfettiException) { null }
}

/** When to come again. What failed is tried again then: [why] says it in words, and [code] for a program, such as CLOCK_BACK. */
data class Step(val next: Instant, val why: String?, val code: Code?)

/** A value that a registry lists. */
interface Word { val text: String }

/** How often something happens in a period. */
class Counter(private val app: Metrics, private val name: String) { fun add(n: Int = 1) = app.count(name, n) }

/** The last value of a period. */
class Category<V : Word>(private val app: Metrics, private val name: String) { fun set(value: V) = app.count(name, value.text) }

/** One number of a period: the last, highest or lowest. */
class Quantity(private val app: Metrics, private val name: String) { fun set(x: Double) = app.count(name, x) }

/** Which items there were in a period. */
class Items<V : Word>(private val app: Metrics, private val name: String) { fun add(item: V) = app.count(name, item.text) }

/** The last text of a period, of which nobody has a list. */
class FreeText(private val app: Metrics, private val name: String) { fun set(text: String) = app.count(name, text) }

/** How far somebody came of some steps, in their order. */
class Steps<V : Word>(private val app: Metrics, private val name: String) { fun step(step: V) = app.count(name, step.text) }

/** An arm that the device drew, and what happened with it. */
class Experiment<A : Word, O : Word>(private val app: Metrics, private val name: String, private val arms: List<A>) {
    /** What the app shows: the first before the person has agreed. */
    fun arm(): A = app.arm(name).let { drawn -> arms.find { it.text == drawn } ?: arms.first() }

    fun outcome(outcome: O) = app.count(name, outcome.text)
}
