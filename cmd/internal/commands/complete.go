package commands

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// shells are what each shell reads, with PROGRAM for the program's name. Each asks the program that is typed, so
// that two versions complete themselves.
var shells = map[string]string{
	"bash": `_PROGRAM() {
  local IFS=$'\n' line
  COMPREPLY=()
  while IFS=$'\t' read -r line _; do
    if [ "$line" = ":files" ]; then compopt -o default 2>/dev/null; COMPREPLY=(); return; fi
    COMPREPLY+=("$line")
  done < <("${COMP_WORDS[0]}" complete-words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _PROGRAM PROGRAM
`,
	"zsh": `#compdef PROGRAM
_PROGRAM() {
  local -a found
  local line help
  while IFS=$'\t' read -r line help; do
    if [[ $line == ":files" ]]; then _files; return; fi
    found+=("${line//:/\\:}:$help")
  done < <("${words[1]}" complete-words -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe PROGRAM found
}
compdef _PROGRAM PROGRAM
`,
	"fish": `function __PROGRAM_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] complete-words -- $words[2..-1] 2>/dev/null)
  if test "$found[1]" = ":files"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\n' $found
  end
end
complete -c PROGRAM -f -a '(__PROGRAM_complete)'
`,
	"powershell": `Register-ArgumentCompleter -Native -CommandName PROGRAM -ScriptBlock {
  param($word, $ast, $at)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($word -eq '') { $words += '""' }
  & $ast.CommandElements[0].ToString() complete-words -- @words 2>$null | ForEach-Object {
    $name, $help = $_ -split [char]9, 2
    if ($name -ne ':files') { [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $(if ($help) { $help } else { $name })) }
  }
}
`,
}

// files stands for what the shell itself completes.
const files = ":files"

// complete returns what the last word may become, each with a tab and its help behind it. It reads no file and asks
// nobody: what only a service knows is not completed.
func (p Program) complete(root *kong.Node, words []string) (all []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	at, flag, positional := walk(root, words[:len(words)-1])
	last := strings.Trim(words[len(words)-1], `"`)
	offer := func(name, help string) {
		if strings.HasPrefix(name, last) {
			first, _, _ := strings.Cut(help, "\n")
			all = append(all, name+"\t"+first)
		}
	}
	value := func(v *kong.Value) []string {
		switch {
		case v.Enum != "":
			for _, e := range v.EnumSlice() {
				if e != "" { // which stands for none
					offer(e, "")
				}
			}
		case v.Tag.Type == "path":
			return []string{files}
		}
		return all
	}
	if flag != nil {
		return value(flag.Value)
	}
	if strings.HasPrefix(last, "-") {
		for _, group := range at.AllFlags(true) {
			for _, f := range group {
				offer("--"+f.Name, f.Help)
			}
		}
		return all
	}
	for _, n := range at.Children {
		if !n.Hidden {
			offer(n.Name, n.Help)
		}
	}
	if at == root {
		for _, name := range p.Others {
			offer(name, "")
		}
	}
	if len(at.Children) == 0 && len(at.Positional) > 0 {
		return value(at.Positional[min(positional, len(at.Positional)-1)])
	}
	return all
}

// walk returns the command that words lead to, the flag whose value comes next if one does, and how many arguments
// the command has by then.
func walk(at *kong.Node, words []string) (_ *kong.Node, flag *kong.Flag, positional int) {
	for i, w := range words {
		switch {
		case flag != nil:
			flag = nil
		case strings.HasPrefix(w, "-"):
			if f := flagOf(at, w); f != nil && !f.IsBool() && !strings.Contains(w, "=") {
				flag = f
			}
		case i == 0 && w == "help":
		default:
			if next := child(at, w); next != nil {
				at, positional = next, 0
			} else {
				positional++
			}
		}
	}
	return at, flag, positional
}

func child(n *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(n.Children, func(c *kong.Node) bool { return c.Name == name || slices.Contains(c.Aliases, name) })
	if i < 0 {
		return nil
	}
	return n.Children[i]
}

func flagOf(n *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	for _, group := range n.AllFlags(false) {
		for _, f := range group {
			if f.Name == name || len(name) == 1 && string(f.Short) == name {
				return f
			}
		}
	}
	return nil
}
