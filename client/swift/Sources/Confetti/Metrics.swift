// Written against confetti.h, and compiled by nobody who wrote it.
import CConfetti
import Foundation

/// What an app counts, by the registry that confetti metrics sign wrote. confetti metrics code --swift writes an enum over one.
public final class Metrics: @unchecked Sendable {
    private let publishers: [String]
    private let registry: () throws -> String
    private let lock = NSLock()
    private var id: UInt64 = 0

    public init(publishers: [String], registry: @escaping () throws -> String) {
        self.publishers = publishers
        self.registry = registry
    }

    private var opened: UInt64 {
        lock.lock()
        defer { lock.unlock() }
        return id
    }

    /// Returns the number that was, and puts another one in its place.
    private func exchange(_ next: UInt64) -> UInt64 {
        lock.lock()
        defer { id = next; lock.unlock() }
        return id
    }

    /// Counts, and answers when a period is over, until stop. Until the person has agreed nothing is kept.
    public func start(folder: URL, bearer: String? = nil, background: Bool = true) throws {
        struct Options: Encodable { let registry: String; let publishers: [String]; let bearer: String?; let background: Bool }
        struct Opened: Decodable { let metrics: UInt64 }
        let options = try json(Options(registry: registry(), publishers: publishers, bearer: bearer, background: background))
        let made = try take(confetti_metrics_open(folder.path, options), as: Opened.self).metrics
        confetti_metrics_close(exchange(made))
    }

    /// Keeps what was counted, and counts no more.
    public func stop() {
        confetti_metrics_close(exchange(0))
    }

    /// Writes down what the person has said to the list as it is now. False destroys what is kept and what waits.
    public func consent(_ agreed: Bool) throws { _ = try take(confetti_metrics_consent(opened, agreed ? 1 : 0), as: Nothing.self) }

    /// What is asked that the person has not agreed to, in words.
    public func new() throws -> [String] {
        struct News: Decodable { let new: [String] }
        return try take(confetti_metrics_new(opened), as: News.self).new
    }

    /// Answers what is due, and returns when to come again, and what could not be said now.
    public func step(limit: TimeInterval = 0) async throws -> Step {
        struct Told: Decodable { let next: Date; let why, code: String? }
        let id = opened
        let told = try await waiting(limit) { try take(confetti_metrics_step(id, $0), as: Told.self) }
        return Step(next: told.next, why: told.why, code: told.code.map { Code(rawValue: $0) ?? .failed })
    }

    // What generated code calls says nothing: an app does not stop because it was counted wrongly, or not yet.
    func count(_ name: String, _ value: some Encodable) {
        guard opened != 0, let text = try? json(value) else { return }
        confetti_free(confetti_metrics_record(opened, name, text))
    }

    func arm(_ name: String) -> String? {
        struct Drawn: Decodable { let arm: String }
        return try? take(confetti_metrics_arm(opened, name), as: Drawn.self).arm
    }
}

/// When to come again. What failed is tried again then: why says it in words, and code for a program, such as clockBack.
public struct Step: Sendable {
    public let next: Date
    public let why: String?
    public let code: Code?
}

/// A value that a registry lists.
public protocol Word: RawRepresentable, Sendable where RawValue == String {}

/// How often something happens in a period.
public struct Counter: Sendable {
    let app: Metrics, name: String
    public init(_ app: Metrics, _ name: String) { self.app = app; self.name = name }
    public func add(_ n: Int = 1) { app.count(name, n) }
}

/// The last value of a period.
public struct Category<V: Word>: Sendable {
    let app: Metrics, name: String
    public init(_ app: Metrics, _ name: String) { self.app = app; self.name = name }
    public func set(_ value: V) { app.count(name, value.rawValue) }
}

/// One number of a period: the last, highest or lowest.
public struct Quantity: Sendable {
    let app: Metrics, name: String
    public init(_ app: Metrics, _ name: String) { self.app = app; self.name = name }
    public func set(_ x: Double) { app.count(name, x) }
}

/// Which items there were in a period.
public struct Items<V: Word>: Sendable {
    let app: Metrics, name: String
    public init(_ app: Metrics, _ name: String) { self.app = app; self.name = name }
    public func add(_ item: V) { app.count(name, item.rawValue) }
}

/// The last text of a period, of which nobody has a list.
public struct FreeText: Sendable {
    let app: Metrics, name: String
    public init(_ app: Metrics, _ name: String) { self.app = app; self.name = name }
    public func set(_ text: String) { app.count(name, text) }
}

/// How far somebody came of some steps, in their order.
public struct Steps<V: Word>: Sendable {
    let app: Metrics, name: String
    public init(_ app: Metrics, _ name: String) { self.app = app; self.name = name }
    public func step(_ step: V) { app.count(name, step.rawValue) }
}

/// An arm that the device drew, and what happened with it.
public struct Experiment<A: Word & CaseIterable, O: Word>: Sendable {
    let app: Metrics, name: String
    public init(_ app: Metrics, _ name: String) { self.app = app; self.name = name }

    /// What the app shows: the first before the person has agreed.
    public func arm() -> A { app.arm(name).flatMap(A.init(rawValue:)) ?? A.allCases.first! }

    public func outcome(_ outcome: O) { app.count(name, outcome.rawValue) }
}
