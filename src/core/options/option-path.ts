import { InvalidOptionError } from '../errors/errors.ts'

/**
 * Runs `create`, and prefixes the path of an invalid option with `prefix`, so that the error names the option as the
 * user wrote it.
 *
 * @example
 * withOptionPath('cache', () => new ResponseCache(options)) // Invalid option "cache.maxEntries": ...
 */
export function withOptionPath<T>(prefix: string, create: () => T): T {
	try {
		return create()
	} catch (error) {
		if (!(error instanceof InvalidOptionError)) throw error
		const { optionPath, received, expected, isUnknown } = error
		throw new InvalidOptionError(`${prefix}.${optionPath}`, received, expected, isUnknown ? error : undefined)
	}
}
