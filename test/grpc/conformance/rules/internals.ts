import type { Section } from './rule.ts'

export const COMMITTED: Section = {
	title: 'When retries are valid',
	prefix: 'A6 commit: ',
	file: 'test/grpc/conformance/commit.test.ts',
	rules: [
		{ rule: 'response headers commit the call: a later failure is returned' },
		{ rule: 'a trailers-only response does not commit the call' },
		{ rule: 'the caller receives the headers of one attempt only' },
		{ rule: 'hedging: response headers cancel the other requests' },
		{ rule: 'hedging: after response headers no further requests are sent' },
		{ rule: 'hedging: a non-fatal status after response headers is returned' },
	],
}

export const BUFFERED: Section = {
	title: 'Buffering',
	prefix: 'A6 buffering: ',
	file: 'test/grpc/conformance/buffering.test.ts',
	rules: [
		{ rule: 'each attempt sends all messages of a stream' },
		{ rule: 'a message above the limit of a call is sent, and the call is not retried' },
		{ rule: 'a call that does not fit beside the others is sent, and is not retried' },
		{ rule: 'a stream that grows above the limit stays with the attempt in flight' },
		{ rule: 'messages above the limit are sent after those before them' },
		{
			rule: 'a message above the limit during a backoff commits the call to the next attempt',
			grpcJs: 'ends the call if a message above the limit is written during a backoff',
		},
		{ rule: 'hedging: a message above the limit commits the call to the request with the most messages' },
		{ rule: 'hedging: the other requests are cancelled, and no further ones are sent' },
		{
			rule: 'hedging: a message above the limit while no request is in flight ends the call',
			grpcJs: 'ends that call only when its next request would be due',
			yaoki: 'ends that call only when its next request would be due',
		},
		{ rule: 'the space is free again when the call has ended' },
		{ rule: 'the space is free again when the response has begun' },
	],
}

export const TRANSPARENT: Section = {
	title: 'Transparent retries',
	prefix: 'A6 transparent retries: ',
	file: 'test/grpc/conformance/transparent-retries.test.ts',
	rules: [
		{ rule: 'a refused stream is retried without a policy' },
		{ rule: 'a stream that GOAWAY does not cover is retried without a policy' },
		{ rule: 'a request that has not left the client is retried until it is sent' },
		{ rule: 'without a policy a stream is retried once' },
		{
			rule: 'with a policy a stream is retried once, and then the policy applies',
			yaoki: 'retries a refused stream once for each attempt of the policy',
		},
		{ rule: 'they do not count toward maxAttempts' },
		{ rule: 'they take no tokens' },
		{ rule: 'a request without a connection is retried by the policy' },
		{
			rule: 'a request that load balancing drops is not retried',
			yaoki: 'retries a dropped request: interceptors cannot distinguish it from a failed one',
		},
	],
}

export const EXPOSED: Section = {
	title: 'Retry metadata',
	prefix: 'A6 metadata: ',
	file: 'test/grpc/conformance/metadata.test.ts',
	rules: [
		{ rule: 'grpc-previous-rpc-attempts is absent in the first attempt, 1 in the second, and so on' },
		{ rule: 'hedged requests count the requests before them' },
		{
			rule: 'the client may add grpc-previous-rpc-attempts to the response headers',
			yaoki: 'returns the headers as the server has sent them',
		},
	],
}

export const CONFIGURED: Section = {
	title: 'Configuration',
	prefix: 'A6 configuration: ',
	file: 'test/grpc/conformance/configuration.test.ts',
	rules: [
		{ rule: 'policies apply to a method, a service or all methods' },
		{ rule: 'without a policy nothing is retried' },
		{ rule: 'each retry may go to another server' },
		{ rule: 'the client cannot change what is retried' },
		{ rule: 'the client can disable retries' },
	],
}
