// Command celoracle answers, for device selectors, what Kubernetes itself
// answers: the compile error, the static cost estimate and the value or the
// runtime error on each device. It is a test tool and no part of the product.
//
//	celoracle < cases.jsonl > answers.jsonl
//	celoracle declarations > functions.txt
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strings"

	celgo "github.com/google/cel-go/cel"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/dynamic-resource-allocation/cel"
)

// Case is one line of input: an expression and the devices to try it on.
type Case struct {
	Expression string `json:"expression"`
	// Admission compiles as the API server does for a new object; otherwise as
	// the scheduler does for a stored one.
	Admission          bool     `json:"admission,omitempty"`
	ConsumableCapacity bool     `json:"consumable_capacity"`
	ListAttributes     bool     `json:"list_attributes"`
	Derived            bool     `json:"derived,omitempty"` // a derived attribute, not a selector
	Devices            []Device `json:"devices"`
}

// Device is a driver name and a device as a ResourceSlice lists it.
type Device struct {
	Driver string             `json:"driver"`
	Device resourceapi.Device `json:"device"`
}

// Answer is one line of output.
type Answer struct {
	CompileError string   `json:"compile_error,omitempty"`
	OutputType   string   `json:"output_type,omitempty"`
	Cost         *uint64  `json:"cost,omitempty"` // nil: no upper bound
	Results      []Result `json:"results"`
}

// Result is the verdict for one device.
type Result struct {
	Match     bool                         `json:"match"`
	Attribute *resourceapi.DeviceAttribute `json:"attribute,omitempty"`
	Error     string                       `json:"error,omitempty"`
}

func answer(c *Case) (out Answer) {
	out.Results = []Result{}
	defer func() {
		// Upstream's validators fail on some expressions, such as [?dyn(1)].
		if r := recover(); r != nil {
			out = Answer{CompileError: fmt.Sprintf("panic: %v", r), Results: []Result{}}
		}
	}()
	envType := environment.StoredExpressions
	if c.Admission {
		envType = environment.NewExpressions
	}
	compiler := cel.GetCompiler(cel.Features{
		EnableConsumableCapacity: c.ConsumableCapacity,
		EnableListTypeAttributes: c.ListAttributes,
	})
	compiled := compiler.CompileCELExpression(c.Expression, cel.Options{EnvType: &envType, DerivedAttribute: c.Derived})
	if compiled.Error != nil {
		out.CompileError = compiled.Error.Error()
		return out
	}
	out.OutputType = compiled.OutputType.String()
	if compiled.MaxCost != math.MaxUint64 {
		out.Cost = &compiled.MaxCost
	}
	for i := range c.Devices {
		out.Results = append(out.Results, evaluate(&compiled, &c.Devices[i], c.Derived))
	}
	return out
}

func evaluate(compiled *cel.CompilationResult, d *Device, derived bool) (res Result) {
	defer func() {
		if r := recover(); r != nil {
			res = Result{Error: fmt.Sprintf("panic: %v", r)}
		}
	}()
	input := cel.Device{
		Driver:                   d.Driver,
		AllowMultipleAllocations: d.Device.AllowMultipleAllocations,
		Attributes:               d.Device.Attributes,
		Capacity:                 d.Device.Capacity,
	}
	var err error
	if derived {
		res.Attribute, _, err = compiled.EvaluateDerivedAttribute(context.Background(), input)
	} else {
		res.Match, _, err = compiled.DeviceMatches(context.Background(), input)
	}
	if err != nil {
		return Result{Error: cel.EnhanceRuntimeError(err).Error()}
	}
	return res
}

// declarations prints each function overload of both environments, one a line.
func declarations() {
	for _, admission := range []bool{false, true} {
		envType := environment.StoredExpressions
		if admission {
			envType = environment.NewExpressions
		}
		compiled := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true}).CompileCELExpression("true", cel.Options{EnvType: &envType})
		functions := compiled.Environment.Functions()
		names := make([]string, 0, len(functions))
		for name := range functions {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			for _, o := range functions[name].OverloadDecls() {
				args := make([]string, 0, len(o.ArgTypes()))
				for _, a := range o.ArgTypes() {
					args = append(args, celgo.FormatCELType(a))
				}
				style := "global"
				if o.IsMemberFunction() {
					style = "member"
				}
				fmt.Println(envType, name, style, o.ID(), "("+strings.Join(args, ", ")+")", celgo.FormatCELType(o.ResultType()))
			}
		}
		for _, v := range compiled.Environment.Variables() {
			fmt.Println(envType, "variable", v.Name(), celgo.FormatCELType(v.Type()))
		}
	}
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "declarations" {
		declarations()
		return
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	enc := json.NewEncoder(w)
	for {
		line, err := in.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			var c Case
			var out Answer
			if e := json.Unmarshal(line, &c); e != nil {
				out = Answer{CompileError: "decode: " + e.Error(), Results: []Result{}}
			} else {
				out = answer(&c)
			}
			if e := enc.Encode(&out); e != nil {
				panic(e)
			}
			if in.Buffered() == 0 {
				w.Flush()
			}
		}
		if err != nil {
			if err != io.EOF {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
}
