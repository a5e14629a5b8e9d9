// One screen: a question of a plan, and what the app counts by itself. Compiled by nobody who wrote it.
import Confetti
import SwiftUI

public struct Screen: View {
    @Environment(\.scenePhase) private var phase
    @State private var said = ""
    private let answers: Answers
    private let counted: URL

    public init() throws {
        let kept = try FileManager.default.url(for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        let options = try String(contentsOf: Bundle.module.url(forResource: "app", withExtension: "json")!, encoding: .utf8)
        answers = try Answers(folder: kept.appendingPathComponent("confetti"), options: options)
        counted = kept.appendingPathComponent("counts")
        _ = try Store(folder: counted) // makes it, and takes it out of backups
    }

    public var body: some View {
        List {
            ForEach(["red", "green", "blue"], id: \.self) { colour in
                Button("I agree: \(colour)") { Task { said = await answers.answer(colour) } }
            }
            Button("No") { tried { try answers.refuse(); return "Nothing is asked of you any more, and what waited is gone." } }
            Button("What did I say?") { said = answers.words() }
            Button("Export") { Counts.exportUsed.add(); said = "Exported." }
            Button("What would be counted?") { tried { try Counts.new().joined(separator: "\n") } }
            Button("I agree to be counted") { tried { try Counts.consent(true); return "Thank you." } }
            Button("Count nothing") { tried { try Counts.consent(false); return "Nothing is kept any more." } }
            Text(said)
        }
        .task { said = await answers.asks() }
        // While the app is in front the library answers by itself when a period is over. What waits longer goes at the next start.
        .onChange(of: phase) { now in
            if now == .active { tried { try Counts.start(folder: counted); return said } } else if now == .background { Counts.stop() }
        }
    }

    private func tried(_ does: () throws -> String) {
        do {
            said = try does()
        } catch let e as ConfettiError {
            said = "\(e.code.rawValue): \(e.message)"
        } catch {
            said = error.localizedDescription
        }
    }
}
