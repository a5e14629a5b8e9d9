// Package dap reads and writes the messages of draft-ietf-ppm-dap-18 by which a device, two aggregators and a
// collector meet. Used by internal/dap/task, client, party/aggregator, internal/service/aggregated and
// internal/service/analyzerd.
//
// Tasks are in the leader-selected batch mode with Prio3. Section numbers are those of the draft. The package knows
// no plan, no network and no disk.
//
// Every decoder accepts exactly what its encoder writes, allocates in proportion to what came, and keeps slices of
// it.
package dap

import (
	"encoding/base64"
	"errors"
	"fmt"
)

// version names the draft, in plans and in every seal.
const version = "dap-18"

// TaskID names a task: a crowd of a plan.
type TaskID [32]byte

// ReportID names a report, and is the nonce of its shares.
type ReportID [16]byte

// BatchID names a batch of a task.
type BatchID [32]byte

// Role is a party of the protocol (4.1).
type Role byte

// The roles.
const (
	collector Role = iota
	client
	Leader
	Helper
)

// Patterns of net/http. {task} is a TaskID in URL-safe base64 without padding.
const (
	ConfigPattern      = "GET /hpke_config"
	ReportsPattern     = "POST /tasks/{task}/reports"
	AggregationPattern = "POST /tasks/{task}/aggregation_jobs"
	SharesPattern      = "POST /tasks/{task}/aggregate_shares"
	CollectionPattern  = "POST /tasks/{task}/collection_jobs"
)

// Media types of bodies.
const (
	ConfigType          = "application/ppm-dap;message=hpke-config-list"
	UploadType          = "application/ppm-dap;message=upload-req"
	AggregationType     = "application/ppm-dap;message=aggregation-job-init-req"
	AggregationRespType = "application/ppm-dap;message=aggregation-job-resp"
	ShareReqType        = "application/ppm-dap;message=aggregate-share-req"
	ShareType           = "application/ppm-dap;message=aggregate-share"
	CollectionType      = "application/ppm-dap;message=collection-job-req"
	CollectionRespType  = "application/ppm-dap;message=collection-job-resp"
)

var base64url = base64.RawURLEncoding.Strict()

// String returns the task's name in paths.
func (t TaskID) String() string { return base64url.EncodeToString(t[:]) }

// ReportsPath returns where the leader takes reports of a task.
func ReportsPath(t TaskID) string { return "/tasks/" + t.String() + "/reports" }

// AggregationPath returns where the helper takes aggregation jobs of a task.
func AggregationPath(t TaskID) string { return "/tasks/" + t.String() + "/aggregation_jobs" }

// SharesPath returns where the helper is asked for its share of a batch.
func SharesPath(t TaskID) string { return "/tasks/" + t.String() + "/aggregate_shares" }

// CollectionPath returns where the leader is asked for both shares of a batch.
func CollectionPath(t TaskID) string { return "/tasks/" + t.String() + "/collection_jobs" }

// PathTask reads {task}.
func PathTask(r interface{ PathValue(string) string }) (t TaskID, err error) {
	text := r.PathValue("task")
	b, err := base64url.DecodeString(text)
	if err != nil || len(b) != len(t) || base64url.EncodeToString(b) != text {
		return t, errors.New("dap: {task} in the path is not 32 bytes in URL-safe base64 without padding")
	}
	return TaskID(b), nil
}

// ReportError says why a report was not taken (4.1).
type ReportError byte

// The errors of reports that are told here.
const (
	BatchCollected  ReportError = 1
	ReportReplayed  ReportError = 2
	HPKEDecrypt     ReportError = 5
	VerifyFailed    ReportError = 6
	InvalidMessage  ReportError = 8
	lastReportError ReportError = 11
)

// errForm returns the error of bytes that are not a message. It names the message and
// nothing of its content.
func errForm(message string) error {
	return fmt.Errorf("dap: not a %s of %s", message, version)
}
