package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/confetti-dp/confetti/cmd/internal/server"
	"github.com/confetti-dp/confetti/cmd/internal/server/roles"
	"github.com/confetti-dp/confetti/internal/service/aggregated"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/issuer"
	"github.com/confetti-dp/confetti/internal/service/planlog"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shufflerd"
)

const deployed = "../../deploy"

// configs are the roles with the structs of their configurations.
var configs = map[string]func() any{
	"shuffler": func() any { return &shufflerd.Config{} },
	"analyzer": func() any { return &analyzerd.Config{} },
	"issuer":   func() any { return &issuer.Config{} },
	"leader":   func() any { return &aggregated.Config{} },
	"helper":   func() any { return &aggregated.Config{} },
	"log":      func() any { return &planlog.Config{} },
}

func deployedText(t *testing.T, elements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{deployed}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// config reads a configuration strictly into the role's struct.
func config(t *testing.T, role, text string) any {
	t.Helper()
	path := filepath.Join(t.TempDir(), role+".toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := configs[role]()
	if err := serve.ReadConfig(path, c); err != nil {
		t.Error(err)
	}
	return c
}

// settings are the names of all settings in a struct of a configuration.
func settings(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Tag.Get("toml") == "-" {
			continue
		}
		if !f.Anonymous { // whose settings are the outer one's
			names = append(names, f.Tag.Get("toml"))
		}
		switch inner := f.Type; inner.Kind() {
		case reflect.Struct:
			names = append(names, settings(inner)...)
		case reflect.Slice, reflect.Map, reflect.Pointer:
			if inner.Elem().Kind() == reflect.Struct {
				names = append(names, settings(inner.Elem())...)
			}
		}
	}
	return names
}

var commented = regexp.MustCompile(`(?m)^# ([a-z_]+ = |\[[a-z_]+\]$)`)

var updateConfigs = flag.Bool("update-configs", false, "write deploy/config anew, as confetti serve example prints it")

// The examples are what the structs of the configurations say. They have every setting, and can be read as
// they are and with those that are commented out.
func TestExampleConfigurations(t *testing.T) {
	for role := range configs {
		printed, err := roles.Example(role)
		if err != nil {
			t.Fatal(err)
		}
		if *updateConfigs {
			if err := os.WriteFile(filepath.Join(deployed, "config", role+".toml"), []byte(printed), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text := deployedText(t, "config", role+".toml")
		if text != printed {
			t.Errorf("deploy/config/%s.toml is not what confetti serve example prints: go test ./cmd/confetti -run ExampleConfigurations -args -update-configs", role)
		}
		config(t, role, text)
		all := commented.ReplaceAllString(text, "$1")
		for _, name := range settings(reflect.TypeOf(config(t, role, all)).Elem()) {
			if !regexp.MustCompile(`(?m)^(` + name + ` = |\[+(.*\.)?` + name + `[].])`).MatchString(all) {
				t.Errorf("%s.toml does not have the setting %q", role, name)
			}
		}
	}
}

// runs checks that a command line is one that confetti-server takes, and returns the
// configuration that it names. That of confetti-shuffler is checked beside it.
func runs(t *testing.T, line []string) (configuration string) {
	t.Helper()
	if filepath.Base(line[0]) == "confetti-server" {
		if _, err := parser(t, server.Program).Parse(line[1:]); err != nil {
			t.Errorf("%v: %v", line, err)
		}
	}
	i := slices.Index(line, "--config")
	if i < 0 || i+1 >= len(line) {
		t.Fatalf("%v names no configuration", line)
	}
	return line[i+1]
}

// Keys of systemd.exec, systemd.service and systemd.unit that the units use. A key
// that systemd does not know is passed over with a warning: a typo would harden
// nothing.
var unitKeys = map[string][]string{
	"Unit":    {"Description", "Wants", "After"},
	"Install": {"WantedBy"},
	"Service": {
		"Type", "ExecStartPre", "ExecStart", "User", "Group", "ConfigurationDirectory", "ConfigurationDirectoryMode", "StateDirectory", "StateDirectoryMode",
		"UMask", "Restart", "RestartSec", "TimeoutStopSec", "LimitNOFILE", "LimitCORE", "MemorySwapMax", "MemoryMax",
		"NoNewPrivileges", "CapabilityBoundingSet", "AmbientCapabilities", "ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "PrivateMounts",
		"ProtectClock", "ProtectControlGroups", "ProtectHostname", "ProtectKernelLogs", "ProtectKernelModules", "ProtectKernelTunables", "ProtectProc", "ProcSubset",
		"KeyringMode", "LockPersonality", "MemoryDenyWriteExecute", "RemoveIPC", "RestrictAddressFamilies", "RestrictNamespaces", "RestrictRealtime",
		"RestrictSUIDSGID", "SystemCallArchitectures", "SystemCallFilter",
	},
}

// besides are keys that some units have.
var besides = []string{"Environment", "EnvironmentFile"}

// unit reads a unit file into the values of each section's keys, and says what is
// wrong with it.
func unit(text string) (sections map[string]map[string][]string, faults []string) {
	sections, at := map[string]map[string][]string{}, ""
	for n, line := range strings.Split(text, "\n") {
		name, value, setting := strings.Cut(line, "=")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			at = line[1 : len(line)-1]
			if unitKeys[at] == nil || sections[at] != nil {
				faults = append(faults, fmt.Sprintf("line %d: section %s is not known, or there twice", n+1, at))
			}
			sections[at] = map[string][]string{}
		case setting && (slices.Contains(unitKeys[at], name) || at == "Service" && slices.Contains(besides, name)):
			sections[at][name] = append(sections[at][name], value)
		default:
			faults = append(faults, fmt.Sprintf("line %d: no setting of section %q", n+1, at))
		}
	}
	return sections, faults
}

func TestUnits(t *testing.T) {
	for role := range configs {
		t.Run(role, func(t *testing.T) {
			u, faults := unit(deployedText(t, "systemd", "confetti-"+role+".service"))
			for _, f := range faults {
				t.Error(f)
			}
			service := u["Service"]
			for section, keys := range unitKeys {
				for _, key := range keys {
					if len(u[section][key]) == 0 {
						t.Errorf("%s lacks %s", section, key)
					}
				}
			}
			for _, key := range []string{"ExecStartPre", "ExecStart"} {
				line := strings.Fields(service[key][0])
				if at := runs(t, line); at != "/etc/"+service["ConfigurationDirectory"][0]+"/"+role+".toml" {
					t.Errorf("%s reads %s, which is not in the folder that systemd makes", key, at)
				}
				if slices.Contains(line, "--check") != (key == "ExecStartPre") {
					t.Errorf("%s: %v", key, line)
				}
			}
			if state := "/var/lib/" + service["StateDirectory"][0]; !strings.Contains(deployedText(t, "config", role+".toml"), `"`+state) {
				t.Errorf("the example of a configuration keeps its state elsewhere than in %s", state)
			}
			stop, err := time.ParseDuration(service["TimeoutStopSec"][0])
			if err != nil || stop <= serve.DefaultLimits.Stop {
				t.Errorf("systemd waits %v (%v) for a stop that may take %v", stop, err, serve.DefaultLimits.Stop)
			}
		})
	}
}

// bounded says what is wrong with the memory that a unit's service may use: none is named, or less than
// its requests' bodies and half a gigabyte.
func bounded(role string, u map[string]map[string][]string) error {
	all := u["Service"]["MemoryMax"]
	if len(all) != 1 {
		return fmt.Errorf("MemoryMax is %q", all)
	}
	size, ok := strings.CutSuffix(all[0], "G")
	n, err := strconv.ParseInt(size, 10, 64)
	if n <<= 30; !ok {
		size, _ = strings.CutSuffix(all[0], "M")
		n, err = strconv.ParseInt(size, 10, 64)
		n <<= 20
	}
	least := int64(512 << 20)
	if configs[role] != nil { // it has http.memory
		least += serve.DefaultLimits.Memory
	}
	if err != nil || n < least {
		return fmt.Errorf("MemoryMax is %s, and the service needs %d MiB", all[0], least>>20)
	}
	return nil
}

// Every unit, workers' and the console's too, is read strictly and bounds its memory.
func TestUnitsBoundMemory(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(deployed, "systemd", "*.service"))
	if err != nil || len(files) != len(configs)+3 {
		t.Fatalf("%v: %q", err, files)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "confetti-"), ".service")
		text := deployedText(t, "systemd", filepath.Base(file))
		u, faults := unit(text)
		for _, f := range faults {
			t.Errorf("%s: %s", name, f)
		}
		if err := bounded(name, u); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, wrong := range []string{"", "MemoryMax=64M\n", "MemoryMax=infinity\n", "MemoryMax=4\n", "MemoryMax=1G\nMemoryMax=2G\n"} {
			if u, _ := unit(regexp.MustCompile("(?m)^MemoryMax=.*\n").ReplaceAllString(text, wrong)); bounded(name, u) == nil {
				t.Errorf("%s: %q passes", name, wrong)
			}
		}
	}
}

// The console has flags and no configuration: those of its unit, with the settings of the example, are
// ones that this program takes, and name what systemd makes.
func TestConsoleUnit(t *testing.T) {
	u, _ := unit(deployedText(t, "systemd", "confetti-console.service"))
	service := u["Service"]
	for section, keys := range unitKeys {
		for _, key := range keys {
			if len(u[section][key]) == 0 && key != "ExecStartPre" { // what is wrong is said by ExecStart
				t.Errorf("%s lacks %s", section, key)
			}
		}
	}
	if !slices.Equal(service["EnvironmentFile"], []string{"/etc/" + service["ConfigurationDirectory"][0] + "/console.env"}) {
		t.Errorf("settings are in %q", service["EnvironmentFile"])
	}
	set := map[string]string{}
	for line := range strings.Lines(deployedText(t, "config", "console.env")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			set[name] = value
		}
	}
	line := os.Expand(service["ExecStart"][0], func(name string) string {
		if set[name] == "" {
			t.Errorf("the example does not set %s", name)
		}
		return set[name]
	})
	c := consoleLine(t, strings.Fields(line))
	for flag, folder := range map[string]string{c.Certificate: "/etc/" + service["ConfigurationDirectory"][0], c.Key: "/etc/" + service["ConfigurationDirectory"][0], c.Tokens: "/etc/" + service["ConfigurationDirectory"][0], c.Folder: "/var/lib"} {
		if filepath.Dir(flag) != folder {
			t.Errorf("%s is not in %s", flag, folder)
		}
	}
	if c.Folder != "/var/lib/"+service["StateDirectory"][0] {
		t.Errorf("sessions are kept in %s", c.Folder)
	}
}

// consoleFlags are those of a console's command line that deployments set.
type consoleFlags struct{ Listen, Analyzer, Address, Certificate, Key, Tokens, Folder, Roots string }

// consoleLine reads a command line that starts a console, which must be one that this program takes.
func consoleLine(t *testing.T, line []string) (c consoleFlags) {
	t.Helper()
	if filepath.Base(line[0]) != "confetti-server" || !slices.Equal(line[1:3], []string{"serve", "console"}) {
		t.Fatalf("%v is no console", line)
	}
	parsed, err := parser(t, server.Program).Parse(line[1:])
	if err != nil {
		t.Fatalf("%v: %v", line, err)
	}
	for _, flag := range parsed.Flags() {
		if f := reflect.ValueOf(&c).Elem().FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, flag.Name) }); f.IsValid() && flag.Set {
			f.SetString(flag.Target.String())
		}
	}
	return c
}

// A planted typo and a stray section are caught.
func TestUnitsAreReadStrictly(t *testing.T) {
	for _, text := range []string{"[Service]\nNoNewPrivilege=yes\n", "[Servce]\n", "NoNewPrivileges=yes\n", "[Service]\nnonsense\n"} {
		if _, faults := unit(text); len(faults) == 0 {
			t.Errorf("%q passes", text)
		}
	}
}

// composed is what the compose file says, as far as it is used.
type composed struct {
	Template any `yaml:"x-service"`
	Services map[string]struct {
		Profiles []string
		Image    string
		Build    struct{ Context, Dockerfile, Target string }
		Command  []string
		Volumes  []string
		Restart  string
		User     string
		ReadOnly bool     `yaml:"read_only"`
		CapDrop  []string `yaml:"cap_drop"`
		Security []string `yaml:"security_opt"`
		Ports    []string
		Stop     string         `yaml:"stop_grace_period"`
		Ulimits  map[string]int `yaml:"ulimits"`
		Logging  map[string]string
	}
	Volumes map[string]struct{}
}

func TestCompose(t *testing.T) {
	var c composed
	d := yaml.NewDecoder(strings.NewReader(deployedText(t, "compose.yaml")))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(c.Services)); !slices.Equal(got, slices.Sorted(maps.Keys(configs))) {
		t.Fatalf("services %v", got)
	}
	dockerfile := deployedText(t, "Dockerfile")
	for role, s := range c.Services {
		program := "confetti-server"
		switch role {
		case "shuffler":
			program = "confetti-shuffler"
		case "leader", "helper":
			program = "confetti-aggregator"
		}
		if at := runs(t, append([]string{program}, s.Command...)); at != "/etc/confetti/"+role+".toml" {
			t.Errorf("%s reads %s", role, at)
		}
		if !slices.Equal(s.Profiles, []string{role}) || s.Image != program || s.Build.Target != program {
			t.Errorf("%s: profiles %v, image %s, target %s", role, s.Profiles, s.Image, s.Build.Target)
		}
		if !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") || !slices.Contains(s.Security, "no-new-privileges:true") || s.User != "65532:65532" {
			t.Errorf("%s is not hardened: %+v", role, s)
		}
		state := role + ":/var/lib/confetti-" + role
		if _, declared := c.Volumes[role]; !declared || !slices.Contains(s.Volumes, state) {
			t.Errorf("%s: volume %s: %v", role, state, s.Volumes)
		}
		if !strings.Contains(dockerfile, "/state /var/lib/confetti-"+role+"\n") {
			t.Errorf("the image has no folder for the volume of %s", role)
		}
		if stop, err := time.ParseDuration(s.Stop); err != nil || stop <= serve.DefaultLimits.Stop {
			t.Errorf("%s: a stop is waited for %v (%v)", role, stop, err)
		}
	}
}

func TestDockerfile(t *testing.T) {
	text := deployedText(t, "Dockerfile")
	modules, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(modules)
	if version == nil || !strings.Contains(text, "FROM golang:"+string(version[1])+" AS build\n") {
		t.Errorf("the images are built with another Go than go.mod's %s", version)
	}
	stages := regexp.MustCompile(`FROM scratch AS (\S+)\n`).FindAllStringSubmatch(text, -1)
	if len(stages) != 6 {
		t.Fatalf("final stages: %v", stages)
	}
	for _, s := range stages {
		_, stage, _ := strings.Cut(text, s[0])
		stage, _, _ = strings.Cut(stage, "\nFROM ")
		for _, want := range []string{"/out/" + s[1] + " /usr/bin/" + s[1], "USER 65532:65532", `ENTRYPOINT ["/usr/bin/` + s[1] + `"]`} {
			if !strings.Contains(stage, want) {
				t.Errorf("stage %s lacks %s", s[1], want)
			}
		}
		if _, err := os.Stat("../" + s[1]); err != nil || !strings.Contains(text, "./cmd/"+s[1]) {
			t.Errorf("%s is not built (%v)", s[1], err)
		}
	}
}

// documents reads a stream of YAML.
func documents(text []byte) ([]map[string]any, error) {
	var all []map[string]any
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var one map[string]any
		err := d.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}
