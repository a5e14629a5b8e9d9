// Package web holds the packages for browsers and Node, which go test runs too.
package web
