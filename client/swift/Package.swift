// swift-tools-version:5.9
// Written against confetti.h, and compiled by nobody who wrote it: docs/examples/ios/native.sh makes CConfetti.xcframework.
import PackageDescription

let package = Package(
    name: "Confetti",
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [.library(name: "Confetti", targets: ["Confetti"])],
    targets: [
        .binaryTarget(name: "CConfetti", path: "CConfetti.xcframework"),
        // Names are asked of resolv, and certificates checked by Security, as Go has it.
        .target(name: "Confetti", dependencies: ["CConfetti"], linkerSettings: [.linkedLibrary("resolv"), .linkedFramework("CoreFoundation"), .linkedFramework("Security")]),
    ]
)
