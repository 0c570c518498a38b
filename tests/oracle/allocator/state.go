package main

import (
	"sort"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
)

type classLister struct {
	list   []*resourceapi.DeviceClass
	byName map[string]*resourceapi.DeviceClass
}

func newClassLister(in []*resourceapi.DeviceClass) classLister {
	l := classLister{list: in, byName: make(map[string]*resourceapi.DeviceClass, len(in))}
	for _, c := range in {
		l.byName[c.Name] = c
	}
	return l
}

func (l classLister) List() ([]*resourceapi.DeviceClass, error) { return l.list, nil }

func (l classLister) Get(name string) (*resourceapi.DeviceClass, error) {
	if c, ok := l.byName[name]; ok {
		return c, nil
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclasses"), name)
}

// state mirrors what the scheduler gathers from allocated claims: admin-access
// results are not counted; shares count in their own set plus the summed
// capacity; with consumable capacity off a share counts as the whole device.
type state struct{ s structured.AllocatedState }

func newState() *state {
	return &state{structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}}
}

func (st *state) add(a *resourceapi.AllocationResult, f structured.Features) {
	if a == nil {
		return
	}
	for i := range a.Devices.Results {
		r := &a.Devices.Results[i]
		if r.AdminAccess != nil && *r.AdminAccess {
			continue
		}
		id := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
		if r.ShareID == nil || !f.ConsumableCapacity {
			st.s.AllocatedDevices.Insert(id)
			continue
		}
		st.s.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, r.ShareID))
		if r.ConsumedCapacity != nil {
			st.s.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, r.ConsumedCapacity))
		}
	}
}

func (st *state) addRaw(raw *RawState) {
	if raw == nil {
		return
	}
	for _, d := range raw.Devices {
		st.s.AllocatedDevices.Insert(structured.MakeDeviceID(d.Driver, d.Pool, d.Device))
	}
	for _, d := range raw.Shared {
		share := types.UID(d.ShareID)
		st.s.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(structured.MakeDeviceID(d.Driver, d.Pool, d.Device), &share))
	}
	for _, d := range raw.Capacity {
		st.s.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(structured.MakeDeviceID(d.Driver, d.Pool, d.Device), d.Capacity))
	}
}

// clone is what the scheduler does once per pod.
func (st *state) clone() structured.AllocatedState {
	return structured.AllocatedState{
		AllocatedDevices:         st.s.AllocatedDevices.Clone(),
		AllocatedSharedDeviceIDs: st.s.AllocatedSharedDeviceIDs.Clone(),
		AggregatedCapacity:       st.s.AggregatedCapacity.Clone(),
	}
}

// setDefaults fills what the API server fills on create.
func setDefaults(c *resourceapi.ResourceClaim) {
	tol := func(ts []resourceapi.DeviceToleration) {
		for i := range ts {
			if ts[i].Operator == "" {
				ts[i].Operator = resourceapi.DeviceTolerationOpEqual
			}
		}
	}
	mode := func(m *resourceapi.DeviceAllocationMode, n *int64) {
		if *m == "" {
			*m = resourceapi.DeviceAllocationModeExactCount
		}
		if *m == resourceapi.DeviceAllocationModeExactCount && *n == 0 {
			*n = 1
		}
	}
	for i := range c.Spec.Devices.Requests {
		r := &c.Spec.Devices.Requests[i]
		if e := r.Exactly; e != nil {
			mode(&e.AllocationMode, &e.Count)
			tol(e.Tolerations)
		}
		for j := range r.FirstAvailable {
			s := &r.FirstAvailable[j]
			mode(&s.AllocationMode, &s.Count)
			tol(s.Tolerations)
		}
	}
}

// applyTaintRules appends the taints of matching rules, as the scheduler's
// slice tracker does before the allocator sees a slice.
func applyTaintRules(slices []*resourceapi.ResourceSlice, rules []*resourceapi.DeviceTaintRule) {
	eq := func(want *string, got string) bool { return want == nil || *want == got }
	rules = append([]*resourceapi.DeviceTaintRule(nil), rules...)
	sort.Slice(rules, func(i, j int) bool { return rules[i].Name < rules[j].Name })
	for _, rule := range rules {
		sel := rule.Spec.DeviceSelector
		if sel == nil {
			continue
		}
		for _, s := range slices {
			if !eq(sel.Driver, s.Spec.Driver) || !eq(sel.Pool, s.Spec.Pool.Name) {
				continue
			}
			for i := range s.Spec.Devices {
				if eq(sel.Device, s.Spec.Devices[i].Name) {
					s.Spec.Devices[i].Taints = append(s.Spec.Devices[i].Taints, rule.Spec.Taint)
				}
			}
		}
	}
}
