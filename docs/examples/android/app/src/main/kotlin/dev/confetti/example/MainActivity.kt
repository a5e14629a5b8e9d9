package dev.confetti.example

import android.app.Activity
import android.os.Bundle
import android.widget.Button
import android.widget.LinearLayout
import android.widget.ScrollView
import android.widget.TextView
import counts.Counts
import dev.confetti.ConfettiException
import java.io.File
import java.util.concurrent.Executors

/** One screen: a question of a plan, and what the app counts by itself. */
class MainActivity : Activity() {
    private val aside = Executors.newSingleThreadExecutor() // the device waits for disk and network
    private lateinit var said: TextView

    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        val options = assets.open("app.json").bufferedReader().use { it.readText() }
        val answers = Answers(File(noBackupFilesDir, "confetti"), options)
        said = TextView(this)
        val screen = LinearLayout(this).apply { orientation = LinearLayout.VERTICAL }
        fun button(text: String, does: () -> String) = screen.addView(Button(this).apply {
            this.text = text
            setOnClickListener { later(does) }
        })
        for (colour in listOf("red", "green", "blue")) button("I agree: $colour") { answers.answer(colour) }
        button("No") { answers.refuse(); "Nothing is asked of you any more, and what waited is gone." }
        button("What did I say?") { answers.words() }
        button("Export") { Counts.exportUsed.add(1); "Exported." }
        button("What would be counted?") { Counts.new().joinToString("\n").ifEmpty { Counts.app.show() } }
        button("I agree to be counted") { Counts.consent(true); "Thank you." }
        button("Count nothing") { Counts.consent(false); "Nothing is kept any more." }
        screen.addView(said)
        setContentView(ScrollView(this).apply { addView(screen) })
        later { answers.asks() }
    }

    // While the screen is there the library answers by itself when a period is over. What waits longer goes at the next start.
    override fun onStart() {
        super.onStart()
        later { Counts.start(File(noBackupFilesDir, "counts")); null }
    }

    override fun onStop() {
        later { Counts.stop(); null }
        super.onStop()
    }

    override fun onDestroy() {
        aside.shutdown()
        super.onDestroy()
    }

    /** Does something aside, and shows what it says. */
    private fun later(does: () -> String?) = aside.execute {
        val text = try { does() } catch (e: ConfettiException) { "${e.code.text}: ${e.message}" }
        if (text != null) runOnUiThread { said.text = text }
    }
}
