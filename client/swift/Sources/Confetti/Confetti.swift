// A device below Swift. Words, checks and the ledger are the C library's.
// Written against confetti.h, and compiled by nobody who wrote it.
import CConfetti
import Foundation

/// What a program branches on; docs/embedding.md says what each means, and what to do about it.
public enum Code: String, Sendable {
    case badOptions = "bad-options"
    case badAnswers = "bad-answers"
    case notOptedIn = "not-opted-in"
    case off = "off"
    case answered = "answered"
    case notOpen = "not-open"
    case closed = "closed"
    case otherRound = "other-round"
    case spent = "spent"
    case dropped = "dropped"
    case publisher = "publisher"
    case promise = "promise"
    case unreachable = "unreachable"
    case certificate = "certificate"
    case origin = "origin"
    case credential = "credential"
    case full = "full"
    case delay = "delay"
    case refused = "refused"
    case nothingKept = "nothing-kept"
    case cancelled = "cancelled"
    case ended = "ended"
    case forked = "forked"
    case registry = "registry"
    case rolledBack = "rolled-back"
    case otherApp = "other-app"
    case unknownMetric = "unknown-metric"
    case wrongType = "wrong-type"
    case outsideDomain = "outside-domain"
    case clockBack = "clock-back"
    case otherStudy = "other-study"
    case notAllowed = "not-allowed"
    case bug = "bug"
    case failed = "failed"
}

/// An error of the device. Its message is for a person, and names no value.
public struct ConfettiError: Error, Sendable {
    public let code: Code
    public let message: String
}

/// What an answer costs, when one person's answer is exchanged for any other; local holds though everyone colludes, and below 0 there is no limit.
public struct Charge: Decodable, Sendable {
    public let epsilon, delta, local: Double
}

/// What a plan asks by a name. What is said under a crowd's, the network sees.
public struct Field: Decodable, Sendable {
    public let name: String
    public let crowd, list: Bool
}

/// What became of an answer. Said is what the device said, in words, and not what was answered.
public enum Outcome: Sendable {
    /// The answer went, whole.
    case sent(said: String?)
    /// The plan has no room for the answer, and what it says of such an answer went. Show it to nobody else.
    case unfit(said: String?)
    /// What was drawn before this device was opened went.
    case delivered(said: String?)
    /// No failure: the answer is safe here. Call deliver at next, or when there is a network again.
    case waiting(Waiting)
}

public struct Waiting: Sendable {
    public let said: String?
    public let parts: Int
    public let next: Date?
    public let why: String?
    public let code: Code?
}

/// What is answered under a name: a text, a number, or a list of either.
public enum Answer: Encodable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByArrayLiteral {
    case text(String), number(Double), list([Answer])

    public init(stringLiteral s: String) { self = .text(s) }
    public init(integerLiteral n: Int) { self = .number(Double(n)) }
    public init(floatLiteral x: Double) { self = .number(x) }
    public init(arrayLiteral items: Answer...) { self = .list(items) }

    public func encode(to encoder: any Encoder) throws {
        var c = encoder.singleValueContainer()
        switch self {
        case .text(let s): try c.encode(s)
        case .number(let x): try c.encode(x)
        case .list(let l): try c.encode(l)
        }
    }
}

/// What every function gives: one of the two.
private struct Reply<T: Decodable>: Decodable {
    struct Failure: Decodable { let code, message: String }
    let ok: T?
    let error: Failure?
}

struct Nothing: Decodable {}

/// Returns what a function gave, and gives its memory back.
func take<T: Decodable>(_ answer: UnsafeMutablePointer<CChar>, as type: T.Type) throws -> T {
    defer { confetti_free(answer) }
    let reply = try decoder().decode(Reply<T>.self, from: Data(bytes: answer, count: strlen(answer)))
    if let e = reply.error { throw ConfettiError(code: Code(rawValue: e.code) ?? .failed, message: e.message) }
    guard let ok = reply.ok else { throw ConfettiError(code: .failed, message: "the library gave neither a result nor an error") }
    return ok
}

/// Go writes times with fractions of a second, or without.
private func decoder() -> JSONDecoder {
    let d = JSONDecoder()
    d.dateDecodingStrategy = .custom { from in
        let text = try from.singleValueContainer().decode(String.self)
        let f = ISO8601DateFormatter()
        if let at = f.date(from: text) { return at }
        f.formatOptions.insert(.withFractionalSeconds)
        guard let at = f.date(from: text) else { throw DecodingError.dataCorrupted(.init(codingPath: from.codingPath, debugDescription: "no time")) }
        return at
    }
    return d
}

func json(_ value: some Encodable) throws -> String { String(decoding: try JSONEncoder().encode(value), as: UTF8.self) }

/// A call that waits for the network, ended when its task is.
func waiting<T: Sendable>(_ limit: TimeInterval, _ f: @escaping @Sendable (UInt64) throws -> T) async throws -> T {
    let call = confetti_call(limit)
    defer { confetti_cancel(call) }
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { done in
            DispatchQueue.global().async { done.resume(with: Result { try f(call) }) }
        }
    } onCancel: {
        confetti_cancel(call)
    }
}

/// One person's own place: what was agreed to, spent and said.
public struct Store: Sendable {
    public let folder: URL

    /// Takes a folder, and takes it out of backups: a ledger that is restored elsewhere says the same twice.
    public init(folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var values = URLResourceValues(), excluded = folder
        values.isExcludedFromBackup = true
        try excluded.setResourceValues(values)
        self.folder = folder
    }

    /// Writes down what the person has said. False destroys what waits; what was spent stays.
    public func consent(_ agreed: Bool) throws { _ = try take(confetti_consent(folder.path, agreed ? 1 : 0), as: Nothing.self) }

    /// All that was agreed to, spent and said, in words, for the person.
    public func words() throws -> String {
        struct Ledger: Decodable { let words: String }
        return try take(confetti_ledger(folder.path), as: Ledger.self).words
    }
}

/// A device that answers one plan.
public final class Device: Sendable {
    private struct Asked: Decodable {
        let device: UInt64
        let plan, title, publisher: String
        let opens, closes: Date?
        let charge: Charge
        let fields: [Field]
    }

    private let asked: Asked
    public var plan: String { asked.plan }
    public var title: String { asked.title }
    public var publisher: String { asked.publisher }
    public var opens: Date? { asked.opens }
    public var closes: Date? { asked.closes }
    public var charge: Charge { asked.charge }
    public var fields: [Field] { asked.fields }

    private init(_ asked: Asked) { self.asked = asked }

    deinit { confetti_close(asked.device) }

    /// Checks a plan, given by its address or as text, and refuses one that none of the publishers signed.
    public static func open(_ store: Store, plan: String, publishers: [String], bearer: String? = nil, delay: Double? = nil, limit: TimeInterval = 0) async throws -> Device {
        struct Options: Encodable { let plan: String; let publishers: [String]; let bearer: String?; let delay: Double? }
        return try await open(store, options: try json(Options(plan: plan, publishers: publishers, bearer: bearer, delay: delay)), limit: limit)
    }

    /// The same, with options as JSON: app.json of a trial, for one.
    public static func open(_ store: Store, options: String, limit: TimeInterval = 0) async throws -> Device {
        Device(try await waiting(limit) { try take(confetti_open(store.folder.path, options, $0), as: Asked.self) })
    }

    /// Answers once, and sends the answer if it can go now.
    public func report(_ answers: [String: Answer], limit: TimeInterval = 0) async throws -> Outcome {
        let text = try json(answers)
        return try await waiting(limit) { try Self.outcome(confetti_report(self.asked.device, text, $0)) }
    }

    /// Answers once, without the network: deliver sends it.
    public func answer(_ answers: [String: Answer]) throws -> Outcome { try Self.outcome(confetti_answer(asked.device, try json(answers))) }

    /// Sends what waits and is due.
    public func deliver(limit: TimeInterval = 0) async throws -> Outcome {
        try await waiting(limit) { try Self.outcome(confetti_deliver(self.asked.device, $0)) }
    }

    private static func outcome(_ answer: UnsafeMutablePointer<CChar>) throws -> Outcome {
        struct Told: Decodable { let status: String; let parts: Int; let next: Date?; let why, said, code: String? }
        let t = try take(answer, as: Told.self)
        switch t.status {
        case "sent": return .sent(said: t.said)
        case "unfit": return .unfit(said: t.said)
        case "delivered": return .delivered(said: t.said)
        default: return .waiting(Waiting(said: t.said, parts: t.parts, next: t.next, why: t.why, code: t.code.map { Code(rawValue: $0) ?? .failed }))
        }
    }
}
