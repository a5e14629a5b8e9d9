// Compiled by nobody who wrote it.
import Editor
import SwiftUI

@main
struct ExampleApp: App {
    var body: some Scene {
        WindowGroup {
            if let screen = try? Screen() { screen } else { Text("There is no folder for the app, or no app.json in it.") }
        }
    }
}
