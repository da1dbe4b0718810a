/** The retry policy, the hedging policy and retry throttling, validated as proposal A6 specifies. */
import { invalidOption, isAmount } from '../../core/options/schema.ts'
import { readDuration, readPositiveDuration } from './duration.ts'
import { checkFields, fieldOf, optionalField, readNumber, readObject } from './fields.ts'
import type { GrpcHedgingPolicy, GrpcRetryPolicy, RetryThrottling } from './service-config.ts'
import { readSomeStatusCodes, readStatusCodes } from './status-codes.ts'

const RETRY_FIELDS = [
	'maxAttempts',
	'initialBackoff',
	'maxBackoff',
	'backoffMultiplier',
	'retryableStatusCodes',
]
const HEDGING_FIELDS = ['maxAttempts', 'hedgingDelay', 'nonFatalStatusCodes']
const THROTTLING_FIELDS = ['maxTokens', 'tokenRatio']

export function readRetryPolicy(path: string, value: unknown, maxAttemptsCap: number): GrpcRetryPolicy {
	const policy = readObject(path, value)
	checkFields(policy, path, RETRY_FIELDS, 'retryPolicy')
	return Object.freeze({
		maxAttempts: readMaxAttempts(`${path}.maxAttempts`, fieldOf(policy, 'maxAttempts'), maxAttemptsCap),
		initialBackoffMs: readPositiveDuration(`${path}.initialBackoff`, fieldOf(policy, 'initialBackoff')),
		maxBackoffMs: readPositiveDuration(`${path}.maxBackoff`, fieldOf(policy, 'maxBackoff')),
		backoffMultiplier: readMultiplier(`${path}.backoffMultiplier`, fieldOf(policy, 'backoffMultiplier')),
		retryableStatusCodes: readSomeStatusCodes(
			`${path}.retryableStatusCodes`,
			fieldOf(policy, 'retryableStatusCodes'),
		),
	})
}

export function readHedgingPolicy(path: string, value: unknown, maxAttemptsCap: number): GrpcHedgingPolicy {
	const policy = readObject(path, value)
	checkFields(policy, path, HEDGING_FIELDS, 'hedgingPolicy')
	return Object.freeze({
		maxAttempts: readMaxAttempts(`${path}.maxAttempts`, fieldOf(policy, 'maxAttempts'), maxAttemptsCap),
		hedgingDelayMs: optionalField(policy, path, 'hedgingDelay', readDuration) ?? 0,
		nonFatalStatusCodes:
			optionalField(policy, path, 'nonFatalStatusCodes', readStatusCodes) ?? new Set<number>(),
	})
}

const readMaxAttempts = (path: string, value: unknown, cap: number): number =>
	Math.min(readNumber(path, value, 2, undefined, 'integer'), cap)

function readMultiplier(path: string, value: unknown): number {
	if (!isAmount(value) || value === 0) invalidOption(path, value, 'a finite number above 0')
	return value
}

/** The largest bucket. Any larger ratio also fills every bucket with one success. */
const MAX_TOKENS = 1_000

/** The smallest ratio that is not 0 after its fourth decimal was dropped. */
const MIN_RATIO = 0.001

export function readRetryThrottling(path: string, value: unknown): RetryThrottling {
	const throttling = readObject(path, value)
	checkFields(throttling, path, THROTTLING_FIELDS, 'retryThrottling')
	const maxTokens = fieldOf(throttling, 'maxTokens')
	const ratio = readNumber(`${path}.tokenRatio`, fieldOf(throttling, 'tokenRatio'), MIN_RATIO)
	return Object.freeze({
		maxTokens: readNumber(`${path}.maxTokens`, maxTokens, 1, MAX_TOKENS, 'integer'),
		tokenRatio: truncate(Math.min(ratio, MAX_TOKENS)),
	})
}

/** Drops the decimals after the third from the number as it is written: 1.005 is 1.00499... in binary. */
const truncate = (ratio: number): number => Number(/^\d+(\.\d{0,3})?/.exec(String(ratio))?.[0])
