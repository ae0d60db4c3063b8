package schema

import (
	"embed"
	"sync"

	"cuelang.org/go/cue"

	"steps.example/schema/internal/model"
)

//go:embed *.cue
var files embed.FS

// A compiled schema can be used by one goroutine at a time.
type compiled struct {
	mu     sync.Mutex
	root   cue.Value
	model  *model.Model
	byType map[string]cue.Value
	steps  map[string]*model.Step
}

var load = sync.OnceValues(func() (*compiled, error) {
	v, err := model.Compile(files)
	if err != nil {
		return nil, err
	}
	m, err := model.Load(v)
	if err != nil {
		return nil, err
	}
	c := &compiled{root: v, model: m, byType: map[string]cue.Value{}, steps: map[string]*model.Step{}}
	for i := range m.Steps {
		s := &m.Steps[i]
		c.byType[s.Type] = c.lookup("#ByType." + s.Type)
		c.steps[s.Type] = s
	}
	return c, nil
})

func (c *compiled) lookup(path string) cue.Value {
	return c.root.LookupPath(cue.ParsePath(path))
}
