package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

type options struct {
	mode    string
	timeout time.Duration
	stats   bool
	channel string
}

// One CEL cache per feature pair. The scheduler keeps 10 entries; a test tool
// that sees thousands of expressions wants more.
var celCaches = map[cel.Features]*cel.Cache{}

func celFeatures(f structured.Features) cel.Features {
	return cel.Features{EnableConsumableCapacity: f.ConsumableCapacity, EnableListTypeAttributes: f.ListTypeAttributes}
}

func celCache(f structured.Features) *cel.Cache {
	key := celFeatures(f)
	c := celCaches[key]
	if c == nil {
		c = cel.NewCache(1000, key)
		celCaches[key] = c
	}
	return c
}

func steps(a structured.Allocator) *int64 { // the statistics type is internal, hence reflection
	m := reflect.ValueOf(a).MethodByName("GetStats")
	if !m.IsValid() {
		return nil
	}
	v := m.Call(nil)[0].Field(0).Int()
	return &v
}

func channel(a structured.Allocator) string {
	m := reflect.ValueOf(a).MethodByName("Channel")
	if !m.IsValid() {
		return ""
	}
	return m.Call(nil)[0].String()
}

func allocate(a structured.Allocator, node *corev1.Node, claims []*resourceapi.ResourceClaim, timeout time.Duration) (res Result) {
	res.Node = node.Name
	ctx := context.Background()
	if timeout > 0 {
		c, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = c
	}
	defer func() {
		if r := recover(); r != nil {
			res.Outcome, res.Allocation = "panic", nil
			res.Error = fmt.Sprintf("%v\n%s", r, debug.Stack())
		}
	}()
	got, err := a.Allocate(ctx, node, claims)
	switch { // same order as the scheduler's Filter
	case errors.Is(err, context.DeadlineExceeded):
		res.Outcome, res.Error = "timeout", err.Error()
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		res.Outcome, res.Error = "node-error", err.Error()
	case err != nil:
		res.Outcome, res.Error = "fatal", err.Error()
	case len(got) != len(claims):
		res.Outcome = "none"
	default:
		res.Outcome, res.Allocation = "allocated", got
	}
	return res
}

// stableShareIDs replaces random share ids by a counter, so that output is reproducible.
func stableShareIDs(as []resourceapi.AllocationResult, n *int) {
	for i := range as {
		for j := range as[i].Devices.Results {
			if r := &as[i].Devices.Results[j]; r.ShareID != nil {
				*n++
				id := types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", *n))
				r.ShareID = &id
			}
		}
	}
}

func run(c *Case, opt options) (out Output) {
	out.ID, out.Results = c.ID, []Result{}
	f, err := parseFeatures(c.Features)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	if c.Mode != "" {
		opt.mode = c.Mode
	}
	ch := opt.channel
	if c.Channel != "" {
		ch = c.Channel
	}
	// The stable variant walks pools in random map order, so it is left out unless asked for.
	structured.EnableAllocators(strings.Split(ch, ",")...)
	if c.Timeout > 0 {
		opt.timeout = time.Duration(c.Timeout * float64(time.Second))
	}
	if !c.NoDefaults {
		for _, cl := range c.Claims {
			setDefaults(cl)
		}
	}
	if f.DeviceTaints {
		applyTaintRules(c.Slices, c.TaintRules)
	}
	st := newState()
	for _, cl := range c.AllocatedClaims {
		st.add(cl.Status.Allocation, f)
	}
	st.addRaw(c.AllocatedState)
	classes, cache := newClassLister(c.Classes), celCache(f)

	shares := 0
	// place runs one pod's worth of claims over the nodes.
	place := func(claims []*resourceapi.ResourceClaim, first bool) *Result {
		a, err := structured.NewAllocator(context.Background(), f, st.clone(), classes, c.Slices, cache)
		if err != nil {
			out.Error = err.Error()
			return nil
		}
		out.Channel = channel(a)
		var before int64
		for _, n := range c.Nodes {
			start := time.Now()
			r := allocate(a, n, claims, opt.timeout)
			if opt.stats {
				us := time.Since(start).Microseconds()
				r.Micros = &us
				if s := steps(a); s != nil {
					d := *s - before
					before, r.Steps = *s, &d
				}
			}
			stableShareIDs(r.Allocation, &shares)
			if opt.mode == "sequence" {
				for _, cl := range claims {
					r.Claims = append(r.Claims, cl.Name)
				}
			}
			out.Results = append(out.Results, r)
			last := &out.Results[len(out.Results)-1]
			if first && r.Outcome == "allocated" {
				return last
			}
			// An error that is not limited to a node ends the scheduling attempt.
			if first && (r.Outcome == "fatal" || r.Outcome == "timeout" || r.Outcome == "panic") {
				return nil
			}
		}
		return nil
	}

	switch opt.mode {
	case "all":
		place(c.Claims, false)
	case "first":
		place(c.Claims, true)
	case "sequence":
		groups := c.Groups
		if groups == nil {
			for i := range c.Claims {
				groups = append(groups, []int{i})
			}
		}
		kept := []Result{}
		for _, g := range groups {
			claims := make([]*resourceapi.ResourceClaim, 0, len(g))
			names := make([]string, 0, len(g))
			for _, i := range g {
				claims = append(claims, c.Claims[i])
				names = append(names, c.Claims[i].Name)
			}
			out.Results = out.Results[:0]
			r := place(claims, true)
			if out.Error != "" {
				return out
			}
			switch {
			case r != nil:
				for i := range r.Allocation {
					st.add(&r.Allocation[i], f)
				}
				kept = append(kept, *r)
			default:
				// Not placed: keep the last fatal reason, or a summary line.
				sum := Result{Claims: names, Outcome: "none"}
				for _, x := range out.Results {
					if x.Outcome != "none" {
						sum.Node, sum.Outcome, sum.Error = x.Node, x.Outcome, x.Error
					}
				}
				kept = append(kept, sum)
			}
		}
		out.Results = kept
	default:
		out.Error = "unknown mode " + opt.mode
	}
	return out
}
