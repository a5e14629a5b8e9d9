// What the test of Go runs: each line that it prints is compared there.
package dev.confetti

import counts.*
import dev.confetti.example.Answers
import java.io.File
import java.time.Duration

private fun code(of: () -> Unit): Code? = try { of(); null } catch (e: ConfettiException) { e.code }

/** Returns what an app on a phone calls a context. */
object context { val noBackupFilesDir = File("private") }

fun quickstart(options: String) {
QUICKSTART
}

fun main(args: Array<String>) {
    val options = File("app.json").readText()
    when (args[0]) {
        "quickstart" -> quickstart(options)
        "codes" -> codes(options)
        "json" -> File("cases.txt").forEachLine { println(try { Json.write(Json.read(it)) } catch (_: IllegalArgumentException) { "refused" }) }
        "android" -> android(options)
        "refused" -> refused(File("refused"))
        "clock" -> counting("second.json").let { it.start(File("ahead"), background = false); println(it.step().code); it.stop() }
        "count" -> count(File("counting"))
        else -> error("no such test")
    }
}

/** Does what the app for Android does. */
private fun android(options: String) {
    val answers = Answers(File("android"), options)
    println(answers.asks().substringBefore("\n"))
    println(answers.answer("green").substringBefore(" You said"))
    println(answers.answer("red").substringBefore(":"))
    println(answers.deliver().substringBefore(" You said"))
    answers.refuse()
    println("you said" in answers.words())
}

/** Prints what is refused, by its code. */
private fun codes(options: String) {
    val store = Store(File("codes"))
    println(code { store.ledger() })
    println(code { Device.open(store, "{}") })
    println(code { Device.open(store, "https://127.0.0.1:1/v1/plans/" + "0".repeat(64), listOf("ed25519:" + "A".repeat(43))) })
    Device.open(store, options).use { d ->
        println("${d.title} ${d.fields} ${d.charge.epsilon > 0} ${d.closes != null} ${d.plan.length}")
        println(code { d.report("colour" to "green") })
        store.consent(true)
        println(code { d.report("color" to "green") })
        println(code { d.report("colour" to 3) })
        Call().use { call ->
            call.cancel()
            println(code { Device.open(Store(File("another")), options, call).close() })
        }
        println(d.answer("colour" to "green") is Outcome.Waiting)
        println(code { d.answer("colour" to "red") })
        println(d.deliver(Call(Duration.ofMinutes(1))) is Outcome.Sent)
        d.close()
        println(code { d.deliver() })
    }
    println("you said" in store.words())
}

private fun counting(registry: String, key: String = File("key.txt").readText()) = Metrics({ File(registry).readText() }, listOf(key))

/** Prints what of a registry and of a folder is refused, by its code. */
private fun refused(folder: File) {
    println(code { counting("second.json", "ed25519:" + "A".repeat(43)).start(folder, background = false) })
    println(code { counting("cases.txt").start(folder, background = false) })
    counting("second.json").run {
        println(code { record("theme", "dark") })
        start(folder, background = false)
        consent(true)
        record("theme", "dark")
        stop()
    }
    println(code { counting("confetti.registry.json").start(folder, background = false) })
    println(code { counting("player.json").start(folder, background = false) })
}

/** Counts as the generated code has it. */
private fun count(folder: File) {
    Counts.exportUsed.add(100) // before the start: nothing
    Counts.app.start(folder, background = false)
    println(Counts.new())
    Counts.exportUsed.add(1)
    Counts.exportUsed.add(2)
    Counts.theme.set(ThemeValue.LIGHT)
    Counts.theme.set(ThemeValue.DARK)
    Counts.startSeconds.set(1.2)
    println(Counts.newWelcome.arm()) // of another registry: the first arm
    println(code { Counts.app.record("nothing", 1) } == Code.UNKNOWN_METRIC)
    println(code { Counts.app.record("theme", 1) } == Code.WRONG_TYPE)
    println(code { Counts.app.record("theme", "pink") } == Code.OUTSIDE_DOMAIN)
    Counts.theme.set(ThemeValue.DARK)
    println(Counts.app.step().next.isAfter(java.time.Instant.now()))
    println(Counts.app.show())
    Counts.stop()
    Counts.exportUsed.add(100) // after the end: nothing
}
