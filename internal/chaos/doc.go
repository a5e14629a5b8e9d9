// Package chaos proves the services together: it is tests only. Devices that each
// hold a value nobody else has report through a real issuer, real hops and a real
// analyzer, while machines crash, disks tear and fill up, clocks jump and links
// fail; what the analyzer has counted in the end is compared with what was
// acknowledged, one respondent at a time.
//
//	go test ./internal/chaos                            what CI runs
//	go test ./internal/chaos -chaos.schedules 5000      more schedules
//	go test ./internal/chaos -chaos.seed 17 -v          one of them, told step by step
//	go test ./internal/chaos -run RottenDisks -chaos.rotten 1000 -timeout 1h    disks that rot
//	go test ./internal/chaos -run Workers -v -chaos.workers 20 -timeout 1h      workers that share crowds and batches
//	go test ./internal/chaos -run Load -v -load.envelopes 5000000 -timeout 60m
//	go test ./internal/chaos -run Soak -soak 10m -timeout 15m
package chaos
