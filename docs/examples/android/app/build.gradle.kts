plugins {
    alias(libs.plugins.android.application)
}

android {
    namespace = "dev.confetti.example"
    compileSdk = 36

    defaultConfig {
        applicationId = "dev.confetti.example"
        minSdk = 26 // java.time
        targetSdk = 36
        versionCode = 1
        versionName = "0.1.0"
        ndk { abiFilters += listOf("arm64-v8a", "x86_64") } // those that native.sh builds
    }

    buildTypes {
        release {
            isMinifyEnabled = true
            proguardFiles(getDefaultProguardFile("proguard-android-optimize.txt"), "proguard-rules.pro")
        }
    }

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }

    // The package for Kotlin as it stands in the checkout. Without one, copy its three files into src/main/kotlin.
    sourceSets.named("main") {
        kotlin.directories += "../../../../client/kotlin/src/main/kotlin"
    }
}

dependencies {
    implementation(libs.jna) { artifact { type = "aar" } } // the jar has nothing that Android loads
}
