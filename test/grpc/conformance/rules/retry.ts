import type { Section } from './rule.ts'

export const ATTEMPTS: Section = {
	title: 'Attempts and deadline',
	prefix: 'A6 attempts: ',
	file: 'test/grpc/conformance/attempts.test.ts',
	rules: [
		{ rule: 'maxAttempts includes the first attempt' },
		{ rule: 'a maxAttempts above 5 means 5' },
		{ rule: 'the client can raise the cap' },
		{ rule: 'the cap also limits hedged requests' },
		{ rule: 'all attempts have the same deadline' },
		{ rule: 'the deadline ends an attempt in flight, and nothing is sent after it' },
		{
			rule: 'a wait for a retry ends at the deadline',
			yaoki: 'does not begin a wait that the deadline would end: the call fails with the last status',
		},
		{ rule: 'the deadline ends all hedged requests in flight' },
	],
}

export const BACKOFF: Section = {
	title: 'Exponential backoff',
	prefix: 'A6 backoff: ',
	file: 'test/grpc/conformance/backoff.test.ts',
	rules: [
		{ rule: 'the first delay is initialBackoff * random(0.8, 1.2)' },
		{
			rule: 'the n-th delay is min(initialBackoff * backoffMultiplier ** (n - 1), maxBackoff) * random(0.8, 1.2)',
		},
		{ rule: 'delays are spread evenly from 80 % to 120 %' },
		{ rule: 'a delay at maxBackoff still has jitter' },
		{ rule: 'a backoffMultiplier of 1 keeps the delay' },
		{ rule: 'a backoffMultiplier below 1 shortens the delay' },
		{
			rule: 'the first delay is the lesser of initialBackoff and maxBackoff',
			grpcJs: 'does not limit the first delay by maxBackoff',
		},
	],
}

export const STATUS_CODES: Section = {
	title: 'Retryable status codes',
	prefix: 'A6 status codes: ',
	file: 'test/grpc/conformance/status-codes.test.ts',
	rules: [
		{ rule: 'a status in retryableStatusCodes is retried' },
		{ rule: 'any other status is returned without a retry' },
		{ rule: 'OK ends the call' },
		{ rule: 'after the last attempt its status is returned' },
		{ rule: 'calls of all four kinds are retried' },
	],
}

export const PUSHBACK: Section = {
	title: 'Pushback',
	prefix: 'A6 pushback: ',
	file: 'test/grpc/conformance/pushback.test.ts',
	rules: [
		{ rule: 'the retry is sent after exactly the given delay' },
		{ rule: 'a delay of 0 retries immediately' },
		{ rule: 'a negative value means no retry' },
		{
			rule: 'a value that is not an integer means no retry',
			grpcJs: [
				'retries immediately after a pushback that is not a number',
				'reads the digits at the beginning of a pushback',
			],
		},
		{ rule: 'a value with leading zeros means no retry', grpcJs: 'ignores leading zeros of a pushback' },
		{
			rule: 'a value beyond 32 bits means no retry',
			grpcJs: 'retries immediately after a pushback beyond 32 bits',
		},
		{ rule: 'the largest 32-bit value is a delay' },
		{ rule: 'maxAttempts also limits retries that the server asks for' },
		{ rule: 'a pushback does not make a status retryable' },
		{ rule: 'after a pushback the backoff begins again at initialBackoff' },
		{
			rule: 'hedging: the next request is sent after the given delay, also if hedgingDelay is shorter',
			grpcJs: 'sends the next hedged request at hedgingDelay, if that is earlier than the pushback',
		},
		{ rule: 'hedging: later requests follow at hedgingDelay after that' },
		{
			rule: 'hedging: a negative value means no further requests, and those in flight go on',
			grpcJs: 'ends a hedged call at a negative pushback and cancels the requests in flight',
		},
		{
			rule: 'hedging: an unparseable value means no further requests',
			grpcJs: 'sends the next hedged request immediately after an unparseable pushback',
		},
		{ rule: 'hedging: maxAttempts also limits requests that the server asks for' },
	],
}
