package conformance

import "sync"

// InOrder calls do for 0 to n-1, up to so many at a time, and report with what each
// gave, in that order, in the goroutine of the caller. It returns when all is done.
func InOrder[R any](workers, n int, do func(int) R, report func(R)) {
	results := make([]chan R, n)
	for i := range results {
		results[i] = make(chan R, 1)
	}
	next := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range next {
				results[i] <- do(i)
			}
		})
	}
	go func() {
		defer close(next)
		for i := range n {
			next <- i
		}
	}()
	for _, r := range results {
		report(<-r)
	}
	group.Wait()
}
