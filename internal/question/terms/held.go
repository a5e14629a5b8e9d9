package terms

import (
	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/plan"
)

// Who sees what of a table.
const (
	tableHolder = "holder of the table"
	whoHolder   = "The holder of the table, who has your row as it is. Nothing protects it from the holder."
	whoReaders  = "Whoever reads this release, as long as the holder keeps the table and the noise to itself."
	rowsPublic  = " The number of rows is public."
	rowsHidden  = " The number of rows is private, as whose they are."
)

// HeldTable states what the holder of a table sees of a row, and what whoever reads what it publishes.
func HeldTable(p plan.Plan, read account.Guarantee) []account.Statement {
	read.Trust, read.Users = account.Central, 1
	rows := rowsPublic
	if p.RowsHidden() {
		rows = rowsHidden
	}
	holder := Bare()
	holder.Method, holder.Source = "the row itself", "the holder sees every row"
	return []account.Statement{
		{Observer: tableHolder, Who: whoHolder, Guarantee: holder},
		{Observer: account.OnlyTheReader, Who: whoReaders + rows, Guarantee: read},
	}
}
