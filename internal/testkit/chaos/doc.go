// Package chaos proves the services together: devices report through a real issuer, real hops or aggregators, a real
// analyzer and a real log, while machines, disks, clocks and links fail. Used by developers and CI, since it has tests only.
//
// What the analyzer has counted in the end is compared with what was acknowledged, one respondent at a time.
//
//	go test ./internal/testkit/chaos                            what CI runs
//	go test ./internal/testkit/chaos -chaos.schedules 5000      more schedules
//	go test ./internal/testkit/chaos -chaos.seed 17 -v          one of them, told step by step
//	go test ./internal/testkit/chaos -run 'Sums$' -chaos.sums 10000 -timeout 3h         aggregators, issuer, analyzer and log
//	go test ./internal/testkit/chaos -run RottenDisks -chaos.rotten 1000 -timeout 1h    disks that rot
//	go test ./internal/testkit/chaos -run Workers -v -chaos.workers 20 -timeout 1h      workers that share crowds and batches
//	go test ./internal/testkit/chaos -run Seats -v -chaos.workers 20 -timeout 1h        three processes each of a leader, a helper and an issuer
//	go test ./internal/testkit/chaos -run RowsAreDrawnOnce -v                           a study that counts every day, and older copies of its aggregators
//	go test ./internal/testkit/chaos -run Hall -v -chaos.workers 20 -timeout 1h         three processes each of two hops, an analyzer and a log
//	go test ./internal/testkit/chaos -run Load -v -load.envelopes 5000000 -timeout 60m
//	go test ./internal/testkit/chaos -run Soak -soak 10m -timeout 15m
package chaos
