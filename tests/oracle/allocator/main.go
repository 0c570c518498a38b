// Command allocator feeds JSON cases to the upstream DRA allocator
// (k8s.io/dynamic-resource-allocation/structured) and prints its decisions as
// JSON lines. It answers each line at once, so one process serves a whole test run.
//
//	allocator [-mode all|first|sequence] [-timeout 5s] [-stats]   < cases.jsonl > results.jsonl
//	allocator bench [-repeat N] [-procs N] < one-case.json
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		bench(os.Args[2:])
		return
	}
	var opt options
	flag.StringVar(&opt.mode, "mode", "all", "all, first or sequence; a case may override it")
	flag.DurationVar(&opt.timeout, "timeout", 5*time.Second, "limit per Allocate call")
	flag.BoolVar(&opt.stats, "stats", false, "add search steps and microseconds per result")
	flag.StringVar(&opt.channel, "channel", "incubating,experimental", "variants that upstream may pick from, out of stable, incubating, experimental")
	strict := flag.Bool("strict", true, "refuse unknown JSON fields")
	flag.Parse()

	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer w.Flush()
	enc := json.NewEncoder(w)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var c Case
			dec := json.NewDecoder(bytes.NewReader(line))
			if *strict {
				dec.DisallowUnknownFields()
			}
			var out Output
			if e := dec.Decode(&c); e != nil {
				out = Output{ID: c.ID, Results: []Result{}, Error: "decode: " + e.Error()}
			} else {
				out = run(&c, opt)
			}
			if e := enc.Encode(&out); e != nil {
				panic(e)
			}
			if in.Buffered() == 0 {
				w.Flush() // interactive use: answer before waiting for the next line
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
