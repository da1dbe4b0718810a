import type { Section } from './rule.ts'

export const HEDGED: Section = {
	title: 'Hedging',
	prefix: 'A6 hedging: ',
	file: 'test/grpc/conformance/hedging.test.ts',
	rules: [
		{ rule: 'the first request is sent immediately, and another one after each hedgingDelay' },
		{ rule: 'at most maxAttempts requests are sent' },
		{ rule: 'a hedgingDelay of 0 sends all requests immediately' },
		{ rule: 'without hedgingDelay all requests are sent immediately' },
		{ rule: 'a success cancels the other requests and is returned' },
		{ rule: 'a non-fatal status sends the next request immediately' },
		{ rule: 'later requests follow at hedgingDelay after that' },
		{ rule: 'a non-fatal status is not returned while other requests are in flight' },
		{ rule: 'any other status cancels all requests and is returned' },
		{ rule: 'without nonFatalStatusCodes every failure is returned' },
		{ rule: 'if all requests fail, the call fails without retries' },
		{ rule: 'messages are sent to all requests in flight, and to those that follow' },
	],
}

export const THROTTLED: Section = {
	title: 'Throttling',
	prefix: 'A6 throttling: ',
	file: 'test/grpc/conformance/throttling.test.ts',
	rules: [
		{ rule: 'the tokens begin at maxTokens' },
		{ rule: 'a retry needs more than maxTokens / 2 tokens' },
		{ rule: 'each attempt that fails with a retryable status takes one token' },
		{ rule: 'the tokens do not fall below 0' },
		{ rule: 'each success adds tokenRatio' },
		{ rule: 'the tokens do not rise above maxTokens' },
		{ rule: 'other statuses, such as INVALID_ARGUMENT, take no tokens' },
		{
			rule: 'a pushback that forbids retries takes a token, whatever the status',
			grpcJs: 'takes no token for a pushback that forbids retries, unless the status is retryable',
		},
		{
			rule: 'a retryable status after the response has begun takes a token',
			grpcJs: 'takes no token for a failure after the response has begun',
		},
		{
			rule: 'a throttled retry is not waited for: the call fails immediately',
			grpcJs: 'waits for the backoff before it finds that the retry is throttled',
		},
		{ rule: 'all methods of a channel share the tokens, those without a policy included' },
		{
			rule: 'all channels to a server share the tokens',
			yaoki: 'shares the tokens between the clients that share the interceptor',
		},
		{ rule: 'hedging: a non-fatal status takes one token' },
		{ rule: 'hedging: the first request is always sent' },
		{
			rule: 'hedging: further requests need more than maxTokens / 2 tokens',
			grpcJs: 'does not throttle hedged requests',
		},
		{
			rule: 'hedging: the call fails immediately if no request is in flight and the next one is throttled',
			grpcJs: 'sends the next hedged request also after a failure that leaves too few tokens',
		},
	],
}
