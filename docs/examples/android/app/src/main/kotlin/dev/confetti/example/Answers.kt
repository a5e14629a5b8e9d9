// What the app does with its device, and nothing of Android: a test runs it on a JVM.
package dev.confetti.example

import dev.confetti.Call
import dev.confetti.ConfettiException
import dev.confetti.Device
import dev.confetti.Outcome
import dev.confetti.Store
import java.io.File
import java.time.Duration

/** Answers one plan in a folder of the person's. Each function waits for the disk or the network: call it off the main thread. */
class Answers(folder: File, private val options: String) {
    private val store = Store(folder)

    /** Returns what is asked, and what an answer costs. */
    fun asks(): String = opened { "${it.title}\nOne answer costs epsilon ${it.charge.epsilon}, and delta ${it.charge.delta}." }

    /** Writes down the person's yes, answers, and returns what became of that, in words. */
    fun answer(colour: String): String {
        store.consent(true)
        return opened { told(it.report("colour" to colour)) }
    }

    /** Sends what waits: when the app starts, or a network is back. */
    fun deliver(): String = opened { told(it.deliver()) }

    /** Writes down the person's no, and destroys what waits. */
    fun refuse() = store.consent(false)

    /** Returns all that was agreed to, spent and said, in words. */
    fun words(): String = try { store.words() } catch (e: ConfettiException) { e.message ?: "" }

    private fun opened(with: (Device) -> String): String = try {
        Call(Duration.ofSeconds(30)).use { call -> Device.open(store, options, call).use(with) }
    } catch (e: ConfettiException) {
        "${e.code.text}: ${e.message}" // an app says it in its own words, by the code
    }

    private fun told(o: Outcome): String = when (o) {
        is Outcome.Waiting -> "It waits here until ${o.next ?: "there is a network"}."
        is Outcome.Unfit -> "Sent, though the question has no place for it."
        else -> "Sent. You said: ${o.said}"
    }
}
