// swift-tools-version:5.9
// What the app is made of, but for its first file. Compiled by nobody who wrote it.
import PackageDescription

let package = Package(
    name: "Editor",
    platforms: [.iOS(.v15)],
    products: [.library(name: "Editor", targets: ["Editor"])],
    dependencies: [.package(name: "Confetti", path: "../../../client/swift")],
    targets: [
        .target(
            name: "Editor",
            dependencies: [.product(name: "Confetti", package: "Confetti")],
            resources: [.copy("app.json"), .copy("confetti.registry.json")]
        ),
    ]
)
