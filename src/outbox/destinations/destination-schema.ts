/** The options that all destinations have, for those that add their own and for the relay. */
import { MAX_NUMBER, type OptionSchema } from '../../core/options/schema.ts'
import type { DestinationOptions } from './destination.ts'

/** 0 stands for the relay's own value. */
export const COMMON_SCHEMA: Readonly<Record<keyof DestinationOptions, OptionSchema[string]>> = {
	maxConcurrent: [1, 1e6, 0],
	maxConcurrentAllRelays: [1, 1e6, Infinity],
	rate: 'any',
	timeoutMs: [1, MAX_NUMBER, 0],
	retry: 'any',
	circuitBreaker: 'any',
	order: 'any',
	attemptLog: 'any',
}

export const DESTINATION_SCHEMA: OptionSchema = { deliver: 'function', ...COMMON_SCHEMA }
