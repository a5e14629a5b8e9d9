#!/usr/bin/env bash
# Builds client/swift/CConfetti.xcframework: the library for phones and for the simulator. It needs a Mac with Xcode and Go.
# Nobody has built it where this was written: there is no Mac.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
made=$(mktemp -d)
trap 'rm -r "$made"' EXIT

build() { # SDK, GOARCH, target of the compiler
  local sdk compiler
  sdk=$(xcrun --sdk "$1" --show-sdk-path)
  compiler=$(xcrun --sdk "$1" --find clang)
  CGO_ENABLED=1 GOOS=ios GOARCH=$2 CC="$compiler -isysroot $sdk -target $3" go build -trimpath -buildvcs=false -tags=libconfetti -buildmode=c-archive \
    -ldflags="-s -w" -o "$made/$1-$2/libconfetti.a" ./cmd/libconfetti
}

build iphoneos arm64 arm64-apple-ios15
build iphonesimulator arm64 arm64-apple-ios15-simulator
build iphonesimulator amd64 x86_64-apple-ios15-simulator
mkdir "$made/simulator"
lipo -create "$made/iphonesimulator-arm64/libconfetti.a" "$made/iphonesimulator-amd64/libconfetti.a" -output "$made/simulator/libconfetti.a"
rm -rf client/swift/CConfetti.xcframework
xcodebuild -create-xcframework \
  -library "$made/iphoneos-arm64/libconfetti.a" -headers cmd/libconfetti/include \
  -library "$made/simulator/libconfetti.a" -headers cmd/libconfetti/include \
  -output client/swift/CConfetti.xcframework
