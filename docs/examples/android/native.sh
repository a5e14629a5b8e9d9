#!/usr/bin/env bash
# Builds libconfetti.so for the processors of Android, into app/src/main/jniLibs. It needs Go, and the NDK, r27 or later:
#   ANDROID_NDK_HOME=$HOME/Android/Sdk/ndk/28.2.13676358 ./native.sh
# Nobody has built it where this was written: there is no NDK. Processors of 32 bits are refused by Go itself: the
# accountant counts people in 64.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
: "${ANDROID_NDK_HOME:?set it to the folder of an NDK, r27 or later}"
case "$(uname -s)" in
  Darwin) host=darwin-x86_64 ;; # also on a processor of Apple
  *) host=linux-x86_64 ;;
esac
tools=$ANDROID_NDK_HOME/toolchains/llvm/prebuilt/$host/bin
root=$(cd ../../.. && pwd)

build() { # folder of jniLibs, GOARCH, compiler of the oldest Android that is meant
  local to=$PWD/app/src/main/jniLibs/$1
  mkdir -p "$to"
  (cd "$root" && CGO_ENABLED=1 GOOS=android GOARCH=$2 CC=$tools/$3 go build -trimpath -buildvcs=false -tags=libconfetti -buildmode=c-shared \
    -ldflags="-s -w -extldflags=-Wl,-soname,libconfetti.so,-z,max-page-size=16384" -o "$to/libconfetti.so" ./cmd/libconfetti)
  rm -f "$to/libconfetti.h" # Go's own header; ours is cmd/libconfetti/include/confetti.h
}

build arm64-v8a arm64 aarch64-linux-android26-clang
build x86_64 amd64 x86_64-linux-android26-clang # the emulator
