package flags

// Columns name a file of columns.
type Columns struct {
	Columns string `help:"File (TOML) of columns, each [[columns]] with its name and either its values or, of a number, its cuts: every two are tabulated together." type:"path" placeholder:"FILE"`
}
