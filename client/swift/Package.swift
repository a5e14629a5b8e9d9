// swift-tools-version:5.9
// Written against confetti.h, and compiled by nobody who wrote it: docs/embedding.md makes CConfetti.xcframework.
import PackageDescription

let package = Package(
    name: "Confetti",
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [.library(name: "Confetti", targets: ["Confetti"])],
    targets: [
        .binaryTarget(name: "CConfetti", path: "CConfetti.xcframework"),
        .target(name: "Confetti", dependencies: ["CConfetti"], linkerSettings: [.linkedLibrary("resolv")]),
    ]
)
