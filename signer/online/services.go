package online

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sigstore/rekor-tiles/v2/pkg/client"
	"github.com/sigstore/rekor-tiles/v2/pkg/client/write"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"

	"steps.example/signer"
)

// Options are how services are reached. The zero value will do.
type Options struct {
	// Now selects services by their validity; nil is the clock.
	Now func() time.Time
	// Timeout is for one request; zero is 30 seconds.
	Timeout time.Duration
	// Retries is how often the certificate and timestamp authorities are asked again
	// when they are busy.
	Retries uint
	// Transport reaches the certificate and timestamp authorities; nil is Go's default.
	Transport http.RoundTripper
}

const (
	maxConfigBytes = 1 << 20
	defaultTimeout = 30 * time.Second

	// logVersion is Rekor's API: the older one is being shut down.
	logVersion = 2
)

// Services are the services of a Sigstore deployment that a signing configuration
// names. They are safe for concurrent use.
type Services struct {
	authority  sign.CertificateProvider // nil without one
	logs       []sign.Transparency
	timestamps []*sign.TimestampAuthority
}

// ParseServices reads a Sigstore signing configuration v0.2. Of the services it names
// it takes those that are valid now, as many as it says. It contacts none of them.
func ParseServices(config []byte, o Options) (*Services, error) {
	if len(config) > maxConfigBytes {
		return nil, configFault(fmt.Errorf("%d bytes, more than %d", len(config), maxConfigBytes))
	}
	raw, err := root.NewSigningConfigProtobuf(config)
	if err != nil {
		return nil, configFault(err)
	}
	parsed, err := root.NewSigningConfigFromProtobuf(raw)
	if err != nil {
		return nil, configFault(err)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	now, s := o.Now(), new(Services)
	if urls := parsed.FulcioCertificateAuthorityURLs(); len(urls) > 0 {
		service, err := root.SelectService(urls, sign.FulcioAPIVersions, now)
		if err != nil {
			return nil, configFault(fmt.Errorf("caUrls: %w", err))
		}
		s.authority = sign.NewFulcio(&sign.FulcioOptions{BaseURL: service.URL, Timeout: o.Timeout, Retries: o.Retries, Transport: o.Transport})
	}
	if urls := parsed.TimestampAuthorityURLs(); len(urls) > 0 {
		if raw.GetTsaConfig() == nil {
			return nil, configFault(fmt.Errorf("tsaUrls without tsaConfig"))
		}
		services, err := root.SelectServices(urls, parsed.TimestampAuthorityURLsConfig(), sign.TimestampAuthorityAPIVersions, now)
		if err != nil {
			return nil, configFault(fmt.Errorf("tsaUrls: %w", err))
		}
		for _, service := range services {
			s.timestamps = append(s.timestamps, sign.NewTimestampAuthority(&sign.TimestampAuthorityOptions{
				URL: service.URL, Timeout: o.Timeout, Retries: o.Retries, Transport: o.Transport}))
		}
	}
	if urls := parsed.RekorLogURLs(); len(urls) > 0 {
		if raw.GetRekorTlogConfig() == nil {
			return nil, configFault(fmt.Errorf("rekorTlogUrls without rekorTlogConfig"))
		}
		services, err := root.SelectServices(urls, parsed.RekorLogURLsConfig(), []uint32{logVersion}, now)
		if err != nil {
			return nil, configFault(fmt.Errorf("rekorTlogUrls: %w", err))
		}
		for _, service := range services {
			// sigstore-go would make the client with the first signature, unlocked.
			writer, err := write.NewWriter(service.URL, client.WithUserAgent("steps"), client.WithTimeout(o.Timeout))
			if err != nil {
				return nil, configFault(fmt.Errorf("rekorTlogUrls: %w", err))
			}
			s.logs = append(s.logs, sign.NewRekor(&sign.RekorOptions{
				BaseURL: service.URL, Timeout: o.Timeout, Version: logVersion, ClientV2: writer}))
		}
	}
	return s, nil
}

func configFault(err error) error {
	return &signer.Error{Kind: signer.KindMalformed, Hint: "give the signing_config.v0.2.json of the Sigstore deployment",
		Msg: fmt.Sprintf("signing configuration: %q", err.Error())}
}

// Evidence is what the services testify to each signature. r is the deployment's trust
// root.
func (s *Services) Evidence(r *signer.TrustRoot) signer.Evidence {
	return signer.Evidence{Logs: s.logs, Timestamps: s.timestamps, TrustRoot: r}
}

// Identity is who a signer becomes.
type Identity struct {
	// Token returns an OpenID Connect identity token.
	Token func(context.Context) (string, error)
	// Name and Issuer are what the certificates have to say, exactly.
	Name, Issuer string
	// CertificateLogs is how many logs must have promised to include them.
	CertificateLogs int
}

// IdentitySigner signs with certificates of the deployment's authority.
func (s *Services) IdentitySigner(id Identity, r *signer.TrustRoot) (*signer.Signer, error) {
	switch {
	case s.authority == nil:
		return nil, configFault(fmt.Errorf("no certificate authority"))
	case len(s.timestamps) == 0:
		return nil, configFault(fmt.Errorf("no timestamp authority, and logs of version %d sign no time", logVersion))
	}
	return signer.NewIdentitySigner(signer.Certification{
		Authority: s.authority, Token: id.Token, Identity: id.Name, Issuer: id.Issuer, Logs: id.CertificateLogs,
	}, s.Evidence(r))
}
