// What the app does with its device. Compiled by nobody who wrote it.
import Confetti
import Foundation

/// Answers one plan in a folder of the person's.
struct Answers: Sendable {
    private let store: Store
    private let options: String

    init(folder: URL, options: String) throws {
        store = try Store(folder: folder)
        self.options = options
    }

    /// Returns what is asked, and what an answer costs.
    func asks() async -> String {
        await opened { "\($0.title)\nOne answer costs epsilon \($0.charge.epsilon), and delta \($0.charge.delta)." }
    }

    /// Writes down the person's yes, answers, and returns what became of that, in words.
    func answer(_ colour: String) async -> String {
        await opened {
            try store.consent(true)
            return told(try await $0.report(["colour": .text(colour)], limit: 30))
        }
    }

    /// Sends what waits: when the app starts, or a network is back.
    func deliver() async -> String { await opened { told(try await $0.deliver(limit: 30)) } }

    /// Writes down the person's no, and destroys what waits.
    func refuse() throws { try store.consent(false) }

    /// Returns all that was agreed to, spent and said, in words.
    func words() -> String { (try? store.words()) ?? "" }

    private func opened(_ with: (Device) async throws -> String) async -> String {
        do {
            return try await with(Device.open(store, options: options, limit: 30))
        } catch let e as ConfettiError {
            return "\(e.code.rawValue): \(e.message)" // an app says it in its own words, by the code
        } catch {
            return error.localizedDescription
        }
    }

    private func told(_ outcome: Outcome) -> String {
        switch outcome {
        case .waiting(let w): return "It waits here until \(w.next.map { "\($0)" } ?? "there is a network")."
        case .unfit: return "Sent, though the question has no place for it."
        case .sent(let said), .delivered(let said): return "Sent. You said: \(said ?? "")"
        }
    }
}
