package registry

import (
	"context"
	"fmt"
	"net/url"

	"gocloud.dev/pubsub"
	_ "gocloud.dev/pubsub/mempubsub"  // mem://
	_ "gocloud.dev/pubsub/natspubsub" // nats://

	"steps.example/signer/registry/store"
)

// Queue tells workers what was published. It may lose and repeat; see the package.
type Queue struct {
	topic *pubsub.Topic
	url   *url.URL
}

// OpenQueue connects to a queue by URL, such as mem://steps or nats://steps?natsv2 (with
// the server in NATS_SERVER_URL).
func OpenQueue(ctx context.Context, queueURL string) (*Queue, error) {
	u, err := url.Parse(queueURL)
	if err != nil {
		return nil, fmt.Errorf("queue: %w; write it like mem://steps or nats://steps?natsv2", err)
	}
	topic, err := pubsub.OpenTopic(ctx, queueURL)
	if err != nil {
		return nil, fmt.Errorf("queue: open %s: %w; mem:// and nats:// are known", u.Redacted(), err)
	}
	return &Queue{topic, u}, nil
}

// Send says that a revision is to be signed.
func (q *Queue) Send(ctx context.Context, ref store.Ref) error {
	return q.topic.Send(ctx, &pubsub.Message{Body: []byte(ref.String())})
}

// Receive calls f with each revision that is announced, until ctx is done. Messages that
// are no refs are passed over.
func (q *Queue) Receive(ctx context.Context, f func(store.Ref)) error {
	u := *q.url
	if u.Scheme == "nats" {
		// Each message for one worker, not for all of them.
		values := u.Query()
		values.Set("queue", "steps")
		u.RawQuery = values.Encode()
	}
	subscription, err := pubsub.OpenSubscription(ctx, u.String())
	if err != nil {
		return fmt.Errorf("queue: subscribe: %w", err)
	}
	defer subscription.Shutdown(context.WithoutCancel(ctx))
	for {
		message, err := subscription.Receive(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("queue: %w", err)
		}
		// The mark in the store is what must not be lost.
		message.Ack()
		if ref, err := store.ParseRef(string(message.Body)); err == nil {
			f(ref)
		}
	}
}

// Close sends what is left and disconnects.
func (q *Queue) Close(ctx context.Context) error { return q.topic.Shutdown(ctx) }
