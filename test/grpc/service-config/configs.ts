/** Service configs for tests, and what parsing them returns or throws. */
import { InvalidArgumentError, InvalidOptionError } from 'yaoki'
import { type MethodConfig, parseServiceConfig, type ServiceConfigOptions } from 'yaoki/grpc'

export const RETRY = {
	maxAttempts: 4,
	initialBackoff: '0.1s',
	maxBackoff: '1s',
	backoffMultiplier: 2,
	retryableStatusCodes: ['UNAVAILABLE'],
}

export const HEDGING = { maxAttempts: 3, hedgingDelay: '0.5s', nonFatalStatusCodes: ['ABORTED'] }

export const THROTTLING = { maxTokens: 10, tokenRatio: 0.1 }

/** Returns a service config with one entry for all methods. */
export const withMethod = (settings: object): object => ({ methodConfig: [{ name: [{}], ...settings }] })

/** Parses the settings of all methods. */
export function parseMethod(settings: object, options?: ServiceConfigOptions): MethodConfig {
	const config = parseServiceConfig(withMethod(settings), options).find('shop.Orders', 'Get')
	if (!config) throw new Error('the config has no entry')
	return config
}

/** Returns the error of a field of a service config. */
export function errorOf(json: unknown, options?: ServiceConfigOptions): InvalidOptionError {
	const error = thrownFor(json, options)
	if (error instanceof InvalidOptionError) return error
	throw error
}

/** Returns the error of what is no service config. */
export function argumentErrorOf(json: unknown): InvalidArgumentError {
	const error = thrownFor(json)
	if (error instanceof InvalidArgumentError) return error
	throw error
}

function thrownFor(json: unknown, options?: ServiceConfigOptions): unknown {
	try {
		parseServiceConfig(json as object, options)
	} catch (error) {
		return error
	}
	throw new Error('the config is valid')
}

/** Returns a copy of the object without a field. */
export function without(object: object, name: string): object {
	const { [name]: _, ...rest } = object as Record<string, unknown>
	return rest
}
