import type { Section } from './rule.ts'

const DIFFERENCES = 'test/grpc/service-config/grpc-js-differences.test.ts'

export const RETRY_POLICY: Section = {
	title: 'Validation of retryPolicy',
	prefix: 'A6 validation of retryPolicy, ',
	file: 'test/grpc/service-config/a6-retry-policy.test.ts',
	differences: DIFFERENCES,
	rules: [
		{ rule: 'rule 1: maxAttempts is a JSON integer above 1, and above the cap it means the cap' },
		{
			rule: 'rule 2: initialBackoff and maxBackoff are proto3 durations above 0',
			grpcJs: 'accepts an initialBackoff and a maxBackoff of 0',
		},
		{
			rule: 'rule 3: backoffMultiplier is a JSON number above 0',
			grpcJs: 'accepts a backoffMultiplier of Infinity',
		},
		{
			rule: 'rule 4: retryableStatusCodes is a non-empty list of codes or names in any case',
			grpcJs: 'accepts OK as a retryable status code',
		},
		{ rule: 'at most one of retryPolicy and hedgingPolicy' },
	],
}

export const HEDGING_POLICY: Section = {
	title: 'Validation of hedgingPolicy',
	prefix: 'A6 validation of hedgingPolicy, ',
	file: 'test/grpc/service-config/a6-hedging-policy.test.ts',
	differences: DIFFERENCES,
	rules: [
		{ rule: 'rule 1: maxAttempts is a JSON integer above 1, and above the cap it means the cap' },
		{ rule: 'rule 2: hedgingDelay is optional, and a proto3 duration' },
		{
			rule: 'rule 3: nonFatalStatusCodes is an optional list of codes or names in any case',
			grpcJs: 'ignores nonFatalStatusCodes that are not a list',
		},
	],
}

export const RETRY_THROTTLING: Section = {
	title: 'Validation of retryThrottling',
	prefix: 'A6 validation of retryThrottling, ',
	file: 'test/grpc/service-config/a6-retry-throttling.test.ts',
	differences: DIFFERENCES,
	rules: [
		{ rule: 'rule 1: maxTokens is a JSON integer in (0, 1000]', grpcJs: 'accepts a fraction as maxTokens' },
		{
			rule: 'rule 2: tokenRatio is a number above 0, truncated to three decimals',
			grpcJs: ['rounds tokenRatio instead of truncating it', 'accepts a tokenRatio that becomes 0'],
		},
	],
}
