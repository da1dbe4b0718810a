import { InvalidOptionError } from '../errors/errors.ts'

const marked = new WeakSet<object>()

/**
 * Marks an error as permanent, so that it is not retried, and returns it. The error object is not changed.
 *
 * @example
 * if (stock === 0) throw permanent(new Error('sold out'))
 */
export function permanent<E extends object>(error: E): E {
	if (Object(error) !== error)
		throw new InvalidOptionError('permanent(error)', error, 'an object, such as an Error')
	marked.add(error)
	return error
}

export const isMarkedPermanent = (error: object): boolean => marked.has(error)
