package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Case is one line of input.
type Case struct {
	ID              string                         `json:"id"`
	Mode            string                         `json:"mode,omitempty"`
	Nodes           []*corev1.Node                 `json:"nodes"`
	Slices          []*resourceapi.ResourceSlice   `json:"slices"`
	Classes         []*resourceapi.DeviceClass     `json:"classes"`
	AllocatedClaims []*resourceapi.ResourceClaim   `json:"allocated_claims,omitempty"`
	AllocatedState  *RawState                      `json:"allocated_state,omitempty"`
	Claims          []*resourceapi.ResourceClaim   `json:"claims"`
	Groups          [][]int                        `json:"groups,omitempty"` // sequence: claims placed together; default one each
	TaintRules      []*resourceapi.DeviceTaintRule `json:"taint_rules,omitempty"`
	Features        json.RawMessage                `json:"features,omitempty"` // object or preset name
	Timeout         float64                        `json:"timeout,omitempty"`  // seconds per Allocate call
	NoDefaults      bool                           `json:"no_defaults,omitempty"`
	Channel         string                         `json:"channel,omitempty"` // comma list, as the flag
}

// RawState injects allocation state that no claim can express.
type RawState struct {
	Devices  []DevRef `json:"devices,omitempty"`
	Shared   []DevRef `json:"shared,omitempty"`
	Capacity []DevRef `json:"capacity,omitempty"`
}

type DevRef struct {
	Driver   string                                          `json:"driver"`
	Pool     string                                          `json:"pool"`
	Device   string                                          `json:"device"`
	ShareID  string                                          `json:"shareID,omitempty"`
	Capacity map[resourceapi.QualifiedName]resource.Quantity `json:"capacity,omitempty"`
}

type Result struct {
	Node       string                         `json:"node"`
	Claims     []string                       `json:"claims,omitempty"`
	Outcome    string                         `json:"outcome"` // allocated|none|node-error|fatal|timeout|panic
	Allocation []resourceapi.AllocationResult `json:"allocation"`
	Error      string                         `json:"error,omitempty"`
	Steps      *int64                         `json:"steps,omitempty"`
	Micros     *int64                         `json:"us,omitempty"`
}

type Output struct {
	ID      string   `json:"id"`
	Channel string   `json:"channel,omitempty"`
	Results []Result `json:"results"`
	Error   string   `json:"error,omitempty"` // input could not be used at all
}

// parseFeatures reads the field names of structured.Features; unknown names are refused.
// Nothing at all means the default gates of Kubernetes 1.37 and fractional ranges.
func parseFeatures(raw json.RawMessage) (structured.Features, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return structured.Features{AdminAccess: true, PrioritizedList: true, PartitionableDevices: true, DeviceTaints: true,
			DeviceBindingAndStatus: true, ConsumableCapacity: true, FractionalCapacityRange: true}, nil
	}
	var f structured.Features
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return f, fmt.Errorf("features: %w", err)
	}
	return f, nil
}
