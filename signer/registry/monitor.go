package registry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"steps.example/signer/registry/store"
)

// Monitor tells how a process is: GET /healthz (it lives), /readyz (its store answers)
// and /metrics (Prometheus text).
type Monitor struct {
	Store   *store.Store
	Log     *slog.Logger
	Metrics *Metrics
}

// Run serves on a listener until ctx is done.
func (m *Monitor) Run(ctx context.Context, l net.Listener) error {
	return serve(ctx, l, m.mux(), m.Log)
}

func (m *Monitor) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", m.ready)
	mux.Handle("GET /metrics", m.Metrics.handler())
	return mux
}

func (m *Monitor) ready(w http.ResponseWriter, r *http.Request) {
	if _, err := m.Store.Exists(r.Context(), "registry"); err != nil {
		m.Log.Error("not ready", "error", err)
		http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
		return
	}
	io.WriteString(w, "ok\n")
}

// serve serves until ctx is done; requests in progress then have ten seconds to end.
func serve(ctx context.Context, l net.Listener, handler http.Handler, log *slog.Logger) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	done := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		done <- server.Shutdown(ctx)
	})
	log.Info("serving", "address", l.Addr().String())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return err
	}
	return <-done
}
