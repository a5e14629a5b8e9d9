package architecture

import (
	"strings"
	"testing"
	"testing/fstest"
)

// A small house: a program on a core, which stands on two packages, one of them
// below the other.
var house = Imports{
	"cmd/house":               {"cmd/house/internal/door", "bottom", "fmt"},
	"cmd/house/internal/door": {"core"},
	"core":                    {"middle", "bottom"},
	"middle":                  {"bottom"},
	"bottom":                  {"os"},
	"alone":                   {"bottom"},
}

func TestReachFollowsImportsOfImports(t *testing.T) {
	reached := house.Reach("cmd/house")
	for _, name := range []string{"core", "middle", "bottom"} {
		if !reached[name] {
			t.Errorf("cmd/house does not reach %s", name)
		}
	}
	if reached["alone"] || reached["fmt"] || reached["cmd/house"] {
		t.Errorf("cmd/house reaches too much: %v", reached)
	}
}

// A module below ours has imports of its own, and is no package of ours.
func TestAnotherModuleIsLeftOut(t *testing.T) {
	found, err := Read(fstest.MapFS{
		"core/a.go":        {Data: []byte("package core")},
		"engine/go.mod":    {Data: []byte("module engine")},
		"engine/a.go":      {Data: []byte("package engine")},
		"engine/deep/a.go": {Data: []byte("package deep")},
	})
	if _, ours := found["core"]; err != nil || len(found) != 1 || !ours {
		t.Errorf("%v, %v", found, err)
	}
}

func picture(t *testing.T, found Imports) string {
	t.Helper()
	svg, err := Draw(found, "cmd/house")
	if err != nil {
		t.Fatal(err)
	}
	return string(svg)
}

// Rooms that import each other cannot be drawn above each other.
func TestRoomsInACircleAreRefused(t *testing.T) {
	circle := Imports{"cmd/house": {"plan"}, "plan": {"account"}, "account": {"internal/plan/author"}, "internal/plan/author": {}}
	if _, err := Draw(circle, "cmd/house"); err == nil {
		t.Error("plan, which stands on account, which stands on plan, is drawn")
	}
}

func TestThePictureHasEachPackageOnceAndNoArrowThatFollowsFromOthers(t *testing.T) {
	svg := picture(t, house)
	for _, name := range []string{"cmd/house", "core", "middle", "bottom"} {
		if n := strings.Count(svg, ">"+name+"<"); n != 1 {
			t.Errorf("%s is drawn %d times", name, n)
		}
	}
	if strings.Contains(svg, ">alone<") || strings.Contains(svg, "door") {
		t.Error("a package that no program reaches is drawn, or a program's own")
	}
	if n := strings.Count(svg, `marker-end=`); n != 3 {
		t.Errorf("drawn %d arrows: want one from each package to the next", n)
	}
	if svg != picture(t, house) {
		t.Error("the same tree gives two pictures")
	}
}
